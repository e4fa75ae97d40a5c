import { AsyncLocalStorage } from 'node:async_hooks';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { OnceLostError } from '../once.errors';
import type { OnceStore } from '../once.store';
import type { OnceRun } from '../once.types';
import { LeaseTimer } from './lease-timer';
import { Run, UnprotectedRun, type HeldClaim } from './run';

/** Interval at which shutdown checks if the last run has ended, ms. */
const CHECK_EVERY_MS = 5;
const SHUTDOWN = 'the app is shutting down';

/** Times for which a shutdown waits, ms. */
export interface RunsOptions {
  readonly drainMs: number;
  readonly abortGraceMs: number;
}

/** Runs of this process: finds the current one, has their leases renewed, and ends them when the app shuts down. */
export class Runs {
  private readonly context = new AsyncLocalStorage<OnceRun>();
  /** Timers by `leaseMs`. */
  private readonly timers = new Map<number, LeaseTimer>();
  /** Calls of `run`, from before their claim until they have ended. */
  private readonly calls = new Set<Promise<unknown>>();
  private readonly stopping = new AbortController();

  constructor(
    private readonly store: OnceStore,
    private readonly options: RunsOptions,
  ) {}

  /** Returns the run that the calling code is part of. */
  current(): OnceRun | undefined {
    return this.context.getStore();
  }

  /** Begins a run. Its lease is renewed until `settle`, and a shutdown waits for it until `end`. @param beforeRenewal as in Run */
  begin(id: string, held: HeldClaim, beforeRenewal?: () => void): Run {
    const run = new Run(id, held, this.store, beforeRenewal);
    if (this.stopping.signal.aborted) run.revoke(SHUTDOWN);
    this.timerOf(held.leaseMs).add(run);
    return run;
  }

  /** Removes a run whose claim was confirmed or released. Harmless twice. */
  end(run: Run): void {
    run.settle();
    run.open = false;
    this.timers.get(run.held.leaseMs)?.remove(run);
  }

  /** Makes a run without a claim. */
  unprotected(id: string): OnceRun {
    return new UnprotectedRun(id, this.stopping.signal);
  }

  /** Calls `work` so that `current()` returns the run in it, and in everything that it awaits. */
  within<T>(run: OnceRun, work: () => T): T {
    return this.context.run(run, work);
  }

  /** Makes a shutdown wait for a call. */
  track<T>(call: Promise<T>): Promise<T> {
    this.calls.add(call);
    const forget = (): void => void this.calls.delete(call);
    call.then(forget, forget);
    return call;
  }

  /** Waits up to `drainMs` for the present runs; then fires the signals of all runs and waits up to `abortGraceMs`. */
  async close(): Promise<void> {
    const { drainMs, abortGraceMs } = this.options;
    const runs = this.open();
    const calls = [...this.calls];
    const idle = (): boolean => !calls.some((call) => this.calls.has(call)) && !runs.some((run) => run.open);
    // Requests still arrive while this waits, and the server waits for them afterwards. Their signals fire at the same time.
    setTimeout(() => this.stop(), drainMs).unref();
    if (await reached(idle, drainMs)) return;
    this.stop();
    await reached(idle, abortGraceMs);
  }

  private stop(): void {
    this.stopping.abort(new OnceLostError('', SHUTDOWN));
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

async function reached(condition: () => boolean, withinMs: number): Promise<boolean> {
  const until = performance.now() + withinMs;
  while (!condition()) {
    const leftMs = until - performance.now();
    if (leftMs <= 0) return false;
    await sleep(Math.min(CHECK_EVERY_MS, leftMs));
  }
  return true;
}
