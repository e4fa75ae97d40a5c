import { AsyncLocalStorage } from 'node:async_hooks';
import {
  afterEffect,
  drained,
  isUnfinished,
  Lease,
  LeaseBook,
  LostError,
  reachedWithin,
  time,
  unlimitedListeners,
  type LossCause,
  type ResolvedShutdown,
} from '../../../internal/src';
import type { Claims } from '../once.claims';
import { events } from '../once.events';
import { isTooLarge } from '../once.input';
import type { Located } from '../once.targets';
import type { Claim, ClaimResult, Delivery, OnceRun, RenewResult, RunResult, RunOptions } from '../once.types';

/** Returns the error that stops a run. @param because end of the sentence "The work must stop and write nothing more, because ..." */
export function mustStop(because: string): LostError {
  return new LostError(`OnceModule: The work must stop and write nothing more, because ${because}.`);
}

export interface HeldClaim {
  readonly claim: Pick<Claim, 'fence' | 'confirm' | 'release'> & {
    renew(options: { readonly leaseMs: number; readonly deadlineMs: number }): Promise<RenewResult>;
  };
  /** Time by `time.monotonicMs()` just before the claim was sent, ms. The lease is counted from here. */
  readonly claimedAt: number;
  readonly leaseMs: number;
  /**
   * Longest time for which the lease is renewed, counted from the claim, ms. If `leaseMs` is longer, the lease ends after
   * `leaseMs`.
   */
  readonly maxLeaseMs: number;
}

/** A run: work under a claim. Its lease is renewed while the work runs. When the lease is lost, the AbortSignal is aborted. */
export class Run extends Lease implements OnceRun {
  /** False after the claim was confirmed or released, or after the attempt to do so has failed. */
  open = true;
  readonly fence: number;

  /**
   * @param id id for the work, as in OnceRun
   * @param onRenewalDue called before each renewal, and at the same interval after a loss of the lease. It may call `settle`, so that the
   *   lease is not renewed
   */
  constructor(
    readonly id: string,
    readonly claimed: HeldClaim,
    private readonly onRenewalDue?: () => void,
  ) {
    const { claimedAt, leaseMs, maxLeaseMs, claim } = claimed;
    super(claimedAt, leaseMs, true, claimedAt + Math.max(leaseMs, maxLeaseMs));
    this.fence = claim.fence;
  }

  override lossOf(cause: LossCause): LostError {
    if (cause === 'settled') return mustStop('its work has already ended');
    if (cause === 'latest') return mustStop(`it has run for ${this.claimed.maxLeaseMs} ms or longer (maxLeaseMs)`);
    if (cause === 'time') return mustStop('the lease of its claim was not renewed in time');
    return mustStop('its claim was lost: the lease has ended, another call has the id, or Redis lost the key');
  }

  override beforeRenewal(): void {
    this.onRenewalDue?.();
  }

  override lose(error: LostError): void {
    if (this.over || this.settling) return;
    super.lose(error);
    this.callAgain(time.monotonicMs());
  }

  override alarm(now: number): void {
    this.onRenewalDue?.();
    if (!this.settling) this.callAgain(now);
  }

  private callAgain(now: number): void {
    if (this.onRenewalDue !== undefined) this.alarmAt = now + this.leaseMs / 3;
  }

  /** Aborts the AbortSignal, but keeps the lease. If the work succeeds nevertheless, its id is confirmed. May be called twice. */
  revoke(because: string): void {
    this.abort(mustStop(because));
  }
}

/**
 * Run of a request without a claim, because Redis failed and `onRedisError` is 'run'. Another request may do the same work at the same
 * time.
 */
export class UnprotectedRun implements OnceRun {
  readonly fence = 0;
  private own: AbortSignal | undefined;

  /** @param stopping AbortSignal that is aborted when the app shuts down */
  constructor(
    readonly id: string,
    private readonly stopping: AbortSignal,
  ) {}

  // Each run has an AbortSignal of its own, so that its listeners are freed with the run. It is created at the first read, because some
  // versions of Node keep a reference to each signal that is derived from `stopping`.
  get signal(): AbortSignal {
    this.own ??= unlimitedListeners(AbortSignal.any([this.stopping]));
    return this.own;
  }

  assertHeld(): void {
    throw mustStop("it runs without a claim: Redis failed at the claim, and onRedisError is 'run'");
  }
}

const SHUTDOWN = 'the app is shutting down';

/** All runs of an OnceModule: finds the current run, renews the leases, and waits for the runs at a shutdown. */
export class Runs {
  private readonly context = new AsyncLocalStorage<OnceRun>();
  private readonly leases = new LeaseBook<Run>({
    renew: async (batch, deadlineMs) => {
      const { claimed, leaseMs } = batch[0] as Run;
      const { status } = await claimed.claim.renew({ leaseMs, deadlineMs });
      return status === 'lost' ? batch : [];
    },
    // Nothing to do: unless a later renewal succeeds, the AbortSignal is aborted when the lease ends.
    renewalFailed: () => undefined,
  });
  /** Calls of `OnceService.run` that have not returned, including those that are just claiming their id. */
  private readonly calls = new Set<object>();
  private readonly stopping = new AbortController();

  private closingSince: number | undefined;

  constructor(private readonly options: ResolvedShutdown) {}

  current(): OnceRun | undefined {
    return this.context.getStore();
  }

  /**
   * Begins a run. Its lease is renewed until `settle` is called, and a shutdown waits for it until `end` is called.
   *
   * @param beforeRenewal see `onRenewalDue` of Run
   */
  begin(id: string, held: HeldClaim, beforeRenewal?: () => void): Run {
    const run = new Run(id, held, beforeRenewal);
    if (this.stopping.signal.aborted) run.revoke(SHUTDOWN);
    this.leases.add(run);
    return run;
  }

  /** Ends a run after its claim was confirmed or released, or after this has failed. May be called twice. */
  end(run: Run): void {
    void run.settle();
    run.open = false;
    this.leases.remove(run);
  }

  unprotected(id: string): OnceRun {
    return new UnprotectedRun(id, this.stopping.signal);
  }

  /**
   * Calls the work of a run, and returns a promise of its result. Inside the work, and in everything that it awaits, `current()` returns
   * the run.
   *
   * On Node 20 and 22, every promise of the process is slower after the first call of this method. So idempotent routes do not use it.
   * See DECISIONS.md: routes-get-their-run-as-parameter
   */
  within<T>(run: OnceRun, body: (run: OnceRun) => T | PromiseLike<T>): Promise<T> {
    // `Promise.resolve` is called inside the run, so that the `then` of a returned thenable also runs inside it.
    return this.context.run(run, () => Promise.resolve(body(run)));
  }

  /** Notes a call of `OnceService.run`, for which a shutdown must wait until `leave` is called. */
  enter(call: object): void {
    this.calls.add(call);
  }

  leave(call: object): void {
    this.calls.delete(call);
  }

  /** Starts the period `drainMs`, unless it has started already. */
  beginClose(): void {
    this.closingSince ??= time.monotonicMs();
  }

  /**
   * Waits up to `drainMs` for the present runs. Also waits for the handlers of workers and consumers of other luanest modules, which have
   * time limits of their own. Then aborts the AbortSignals of all runs, and waits up to `abortGraceMs` for them.
   */
  async close(): Promise<void> {
    this.beginClose();
    const { drainMs, abortGraceMs } = this.options;
    const leftMs = Math.max(0, drainMs - (time.monotonicMs() - (this.closingSince as number)));
    const allDrained = drained();
    const runs = [...this.leases.all];
    const calls = [...this.calls];
    const idle = (): boolean => !calls.some((call) => this.calls.has(call)) && !runs.some((run) => run.open);
    // Meanwhile, new requests may begin runs. The HTTP server waits for them later, so their AbortSignals must be aborted, too, even after
    // this method has returned.
    time.setTimeLimit(() => void allDrained.then(() => this.stop()), leftMs).unref();
    await Promise.all([reachedWithin(leftMs, idle), allDrained]);
    if (idle()) return;
    this.stop();
    await reachedWithin(abortGraceMs, idle);
  }

  private stop(): void {
    this.stopping.abort(mustStop(SHUTDOWN));
    for (const run of this.leases.all) run.revoke(SHUTDOWN);
  }
}

const WORK_MAY_REPEAT = 'When the lease of the claim has ended, a call with this id may run the work again.';

export interface Work<T> {
  readonly located: Located;
  readonly options: RunOptions;
  readonly body: (run: OnceRun) => T | PromiseLike<T>;
}

/** Runs work under a claim: claims an id, runs the work, and confirms or releases the id. */
export class Runner {
  constructor(
    private readonly claims: Claims,
    private readonly runs: Runs,
  ) {}

  // A single async function is used, because each promise costs more with AsyncLocalStorage.
  /** Runs work, unless its id is done or in progress. @throws the errors of `OnceService.run` */
  async run<T>(work: Work<T>): Promise<RunResult<Awaited<T>>> {
    const { located, options, body } = work;
    let run: Run | undefined;
    this.runs.enter(work);
    try {
      const full = this.claims.fill(options);
      const { leaseMs, maxLeaseMs } = full;
      const claimedAt = time.monotonicMs();
      const claim = (await this.claims.take(located, full, options.token === undefined)) as ClaimResult;
      if (claim.status === 'in-progress') return claim;
      if (claim.status === 'done') {
        return { status: 'duplicate', result: claim.result as Awaited<T>, confirmed: claim.confirmed };
      }
      run = this.runs.begin(located.id, { claim, claimedAt, leaseMs, maxLeaseMs });
      let result: Awaited<T>;
      try {
        result = await this.runs.within<Awaited<T>>(run, body as (run: OnceRun) => PromiseLike<Awaited<T>>);
      } catch (error) {
        void run.settle();
        await this.settleUnfinished(claim, full.delivery);
        throw error;
      }
      void run.settle();
      if (isUnfinished(result)) {
        await this.settleUnfinished(claim, full.delivery);
        return { status: 'ran', result, confirmed: false };
      }
      const text = this.encodeOrNothing(result);
      try {
        const { status } = await this.claims.store.confirm(located.key, full.token, text, full);
        return { status: 'ran', result, confirmed: status === 'confirmed' };
      } catch (error) {
        throw afterEffect(
          error,
          'OnceService.run: The work has run, but its id could not be marked as done',
          WORK_MAY_REPEAT,
        );
      }
    } finally {
      if (run !== undefined) this.runs.end(run);
      this.runs.leave(work);
    }
  }

  /**
   * Ends the claim of work that did not finish: confirms it with `at-most-once`, otherwise releases it. A failure of Redis only leads to an
   * event, because the caller must get the result or the error of the work.
   */
  private async settleUnfinished(claim: Claim, delivery: Delivery): Promise<void> {
    try {
      await (delivery === 'at-most-once' ? claim.confirm() : claim.release());
    } catch (error) {
      events.settlementFailed.publish(() => ({ error }));
    }
  }

  /** Returns a result as JSON, or '' if it cannot be stored. The work is done, so its id must be confirmed in any case. */
  private encodeOrNothing(result: unknown): string {
    try {
      return this.claims.encode(result);
    } catch (error) {
      const reason = isTooLarge(error) ? 'too-large' : 'not-json';
      events.resultDropped.publish(() => ({ reason }));
      return '';
    }
  }
}
