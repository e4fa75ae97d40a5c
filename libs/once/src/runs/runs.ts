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

/** Returns the error that stops a run. @param because end of the sentence "The run must stop, because ..." */
export function mustStop(because: string): LostError {
  return new LostError(`The run must stop, because ${because}.`);
}

export interface HeldClaim {
  readonly claim: Pick<Claim, 'fence' | 'confirm' | 'release'> & {
    renew(options: { readonly leaseMs: number; readonly deadlineMs: number }): Promise<RenewResult>;
  };
  /** Result of `time.monotonicMs()` before the claim was sent, ms. The lease is counted from this time. */
  readonly claimedAt: number;
  readonly leaseMs: number;
  /**
   * Longest time for which the lease is renewed, counted from the claim, ms. If `leaseMs` is longer, the lease ends after
   * `leaseMs`.
   */
  readonly maxLeaseMs: number;
}

/**
 * Run that has a claim. The LeaseBook of Runs renews its lease, and watches the end of the lease by the monotonic clock. When the
 * lease is lost, the signal fires.
 */
export class Run extends Lease implements OnceRun {
  /** False once `Runs.end` was called: the claim was confirmed or released, or this failed. */
  open = true;
  readonly fence: number;

  /**
   * @param id id of the run, as in OnceRun
   * @param onRenewalDue called before each renewal. After the lease is lost, it is still called at the same interval. If it calls
   * `settle`, the lease is not renewed
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
    if (cause === 'latest') return mustStop(`it has run for at least its maxLeaseMs, ${this.claimed.maxLeaseMs} ms`);
    if (cause === 'time') return mustStop('its lease was not renewed in time');
    return mustStop('its lease has ended, another owner has the id, or Redis lost the claim');
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

  /**
   * Fires the signal, but keeps the lease. If the work ends successfully after that, its id is still confirmed. May be called
   * twice.
   */
  revoke(because: string): void {
    this.abort(mustStop(because));
  }
}

/**
 * Run of a request without a claim: the claim failed, and `onRedisError` is 'run'. Another request may do the same work at the
 * same time.
 */
export class UnprotectedRun implements OnceRun {
  readonly fence = 0;
  private own: AbortSignal | undefined;

  /** @param stopping signal that fires when the app shuts down */
  constructor(
    readonly id: string,
    private readonly stopping: AbortSignal,
  ) {}

  // Each run has its own signal, so that the listeners are freed together with the run. The signal is created when it is first
  // read, because some versions of Node keep a reference to each derived signal on `stopping`.
  get signal(): AbortSignal {
    this.own ??= unlimitedListeners(AbortSignal.any([this.stopping]));
    return this.own;
  }

  assertHeld(): void {
    throw mustStop("it has no claim: the claim failed, and onRedisError is 'run'");
  }
}

const SHUTDOWN = 'the app is shutting down';

/**
 * All runs of an OnceModule. This class finds the current run, renews the leases, and waits for the runs when the app shuts down.
 */
export class Runs {
  private readonly context = new AsyncLocalStorage<OnceRun>();
  private readonly leases = new LeaseBook<Run>({
    renew: async (batch, deadlineMs) => {
      const { claimed, leaseMs } = batch[0] as Run;
      const { status } = await claimed.claim.renew({ leaseMs, deadlineMs });
      return status === 'lost' ? batch : [];
    },
    // Nothing to do: if no later renewal succeeds, the signal fires at the end of the lease.
    renewalFailed: () => undefined,
  });
  /** Calls of `OnceService.run` that have not returned yet. A call is in this set even before its claim. */
  private readonly calls = new Set<object>();
  private readonly stopping = new AbortController();

  private closingSince: number | undefined;

  constructor(private readonly options: ResolvedShutdown) {}

  current(): OnceRun | undefined {
    return this.context.getStore();
  }

  /**
   * Begins a run that has a claim. The lease is renewed until `settle` is called. A shutdown waits for the run until `end` is
   * called.
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
   * Calls the body of a run, and returns a promise of the result. `current()` returns the run inside of `body` and of everything
   * that `body` awaits.
   *
   * On Node 20 and 22, every promise of the process is slower after the first call of this method. So idempotent routes do not
   * use it.
   * See DECISIONS.md: routes-get-their-run-as-parameter
   */
  within<T>(run: OnceRun, body: (run: OnceRun) => T | PromiseLike<T>): Promise<T> {
    // `Promise.resolve` returns a promise unchanged. It converts any other thenable to a promise. This is done here, so that the
    // `then` of the thenable runs inside of the run.
    return this.context.run(run, () => Promise.resolve(body(run)));
  }

  /** Remembers a call of `OnceService.run` until `leave`, so that a shutdown waits for the call. */
  enter(call: object): void {
    this.calls.add(call);
  }

  leave(call: object): void {
    this.calls.delete(call);
  }

  /** Starts the time `drainMs`, unless it has started before. */
  beginClose(): void {
    this.closingSince ??= time.monotonicMs();
  }

  /**
   * Waits up to `drainMs` for the runs that exist now, and waits until workers and consumers have drained (ended their work).
   * Then fires the signals of all runs, and waits up to `abortGraceMs` for them.
   */
  async close(): Promise<void> {
    this.beginClose();
    const { drainMs, abortGraceMs } = this.options;
    const leftMs = Math.max(0, drainMs - (time.monotonicMs() - (this.closingSince as number)));
    const allDrained = drained();
    const runs = [...this.leases.all];
    const calls = [...this.calls];
    const idle = (): boolean => !calls.some((call) => this.calls.has(call)) && !runs.some((run) => run.open);
    // While this method waits, new requests still arrive and begin runs. The HTTP server waits for these requests later. So the
    // signals of their runs must fire, too, even if this method has returned.
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

const WORK_MAY_REPEAT = 'A later call with this id may run the work again.';

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

  // This is one async function, because each promise costs more when AsyncLocalStorage is used.
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
        throw afterEffect(error, 'The work of OnceService.run has run, but its id was not confirmed', WORK_MAY_REPEAT);
      }
    } finally {
      if (run !== undefined) this.runs.end(run);
      this.runs.leave(work);
    }
  }

  /**
   * Ends the claim of work that is not finished: confirms it with `at-most-once`, releases it otherwise. If Redis fails, only
   * publishes an event, because the caller must get the outcome of the work.
   */
  private async settleUnfinished(claim: Claim, delivery: Delivery): Promise<void> {
    try {
      await (delivery === 'at-most-once' ? claim.confirm() : claim.release());
    } catch (error) {
      events.settlementFailed.publish(() => ({ error }));
    }
  }

  /**
   * Returns a result as JSON. Returns '' if the result cannot be stored: the work is done, so its id must be confirmed even
   * without a result.
   */
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
