import { AsyncLocalStorage } from 'node:async_hooks';
import { drained, reachedWithin, time } from '../../../internal/src';
import type { OnceRun } from '../once.types';
import { LeaseTimer } from './lease-timer';
import { mustStop, Run, UnprotectedRun, type HeldClaim } from './run';

const SHUTDOWN = 'the app is shutting down';

export interface RunsOptions {
  readonly drainMs: number;
  readonly abortGraceMs: number;
}

/** All runs of an OnceModule. Returns the current run, renews the leases, and waits for the runs when the app shuts down. */
export class Runs {
  private readonly context = new AsyncLocalStorage<OnceRun>();
  private readonly timers = new Map<number, LeaseTimer>();
  /** Calls of `OnceService.run` that have not returned yet, also before their claim. */
  private readonly calls = new Set<object>();
  private readonly stopping = new AbortController();

  private closingSince: number | undefined;

  constructor(private readonly options: RunsOptions) {}

  current(): OnceRun | undefined {
    return this.context.getStore();
  }

  /**
   * Begins a run with a claim. Its lease is renewed until `settle`; a shutdown waits until `end`.
   *
   * @param beforeRenewal as in Run
   */
  begin(id: string, held: HeldClaim, beforeRenewal?: () => void): Run {
    const run = new Run(id, held, beforeRenewal);
    if (this.stopping.signal.aborted) run.revoke(SHUTDOWN);
    this.timerOf(held.leaseMs).add(run);
    return run;
  }

  /** Ends a run whose claim was confirmed or released, or could not be. May be called twice. */
  end(run: Run): void {
    run.settle();
    run.open = false;
    this.timers.get(run.held.leaseMs)?.remove(run);
  }

  unprotected(id: string): OnceRun {
    return new UnprotectedRun(id, this.stopping.signal);
  }

  /**
   * Calls the body of a run, and returns a promise of its result. Inside of `body`, and of everything that it awaits, `current()`
   * returns the run.
   *
   * On Node 20 and 22, the first call makes every promise of the process cost more. So idempotent routes do without.
   * See DECISIONS.md: routes-get-their-run-as-parameter
   */
  within<T>(run: OnceRun, body: (run: OnceRun) => T | PromiseLike<T>): Promise<T> {
    // `resolve` returns a promise as it is. It makes one of any other thenable here, so that its `then` runs inside of the run.
    return this.context.run(run, () => Promise.resolve(body(run)));
  }

  /** Remembers a call of `OnceService.run` until `leave`, so that a shutdown waits for the call. */
  enter(call: object): void {
    this.calls.add(call);
  }

  leave(call: object): void {
    this.calls.delete(call);
  }

  /** Starts `drainMs`. */
  beginClose(): void {
    this.closingSince ??= time.monotonicMs();
  }

  /**
   * Waits up to `drainMs` for the runs of this moment, and for all drains. Then fires the signals of all runs, and waits up to
   * `abortGraceMs`.
   */
  async close(): Promise<void> {
    this.beginClose();
    const { drainMs, abortGraceMs } = this.options;
    const leftMs = Math.max(0, drainMs - (time.monotonicMs() - (this.closingSince as number)));
    const allDrained = drained();
    const runs = this.open();
    const calls = [...this.calls];
    const idle = (): boolean => !calls.some((call) => this.calls.has(call)) && !runs.some((run) => run.open);
    // While this waits, requests still arrive and begin runs. The server waits for these requests later, so the signals of
    // their runs must fire, too, even if this method has returned.
    time.setTimeLimit(() => void allDrained.then(() => this.stop()), leftMs).unref();
    await Promise.all([reachedWithin(leftMs, idle), allDrained]);
    if (idle()) return;
    this.stop();
    await reachedWithin(abortGraceMs, idle);
  }

  private stop(): void {
    this.stopping.abort(mustStop(SHUTDOWN));
    for (const run of this.open()) run.revoke(SHUTDOWN);
  }

  private open(): Run[] {
    return [...this.timers.values()].flatMap(({ leases }) => leases as readonly Run[]);
  }

  private timerOf(leaseMs: number): LeaseTimer {
    let timer = this.timers.get(leaseMs);
    if (timer === undefined) {
      timer = new LeaseTimer(leaseMs, () => this.timers.delete(leaseMs));
      this.timers.set(leaseMs, timer);
    }
    return timer;
  }
}
