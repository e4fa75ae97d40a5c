import { AsyncLocalStorage } from 'node:async_hooks';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OnceStore } from '../once.store';
import type { OnceRun } from '../once.types';
import { Rounds } from './rounds';
import { Run, UnprotectedRun, type Held } from './run';

/** How often shutdown looks whether the last run has ended, ms. */
const LOOK_EVERY_MS = 5;
const SHUTDOWN = 'the app is shutting down';

/** How long a shutdown waits. */
export interface RunsOptions {
  readonly drainMs: number;
  readonly abortGraceMs: number;
}

/** The runs of a process: which one calls, who renews their leases, and how they end when the app shuts down. */
export class Runs {
  private readonly context = new AsyncLocalStorage<OnceRun>();
  private readonly rounds = new Map<number, Rounds>();
  /** Calls of `run`, from before their claim until they have ended. */
  private readonly calls = new Set<Promise<unknown>>();
  private readonly stopping = new AbortController();

  constructor(
    private readonly store: OnceStore,
    private readonly options: RunsOptions,
  ) {}

  /** Returns the run that the caller is part of. */
  current(): OnceRun | undefined {
    return this.context.getStore();
  }

  /** Begins a run. Its lease is renewed until `settle`, and it is open until `end`. */
  begin(id: string, held: Held, look?: () => void): Run {
    const run = new Run(id, held, this.store, look);
    if (this.stopping.signal.aborted) run.revoke(SHUTDOWN);
    this.roundsOf(held.leaseMs).add(run);
    return run;
  }

  /** Lets a run go, whose claim was settled. Harmless twice. */
  end(run: Run): void {
    run.settle();
    run.open = false;
    this.rounds.get(run.held.leaseMs)?.remove(run);
  }

  /** Makes a run without a claim. */
  unprotected(id: string): OnceRun {
    return new UnprotectedRun(id, this.stopping.signal);
  }

  /** Calls `work` so that `current()` returns the run there, and in all that it awaits. */
  within<T>(run: OnceRun, work: () => T): T {
    return this.context.run(run, work);
  }

  /** Has a shutdown wait for a call. */
  track<T>(call: Promise<T>): Promise<T> {
    this.calls.add(call);
    const forget = (): void => void this.calls.delete(call);
    call.then(forget, forget);
    return call;
  }

  /** Waits for what runs now, up to `drainMs`; then fires the signals of all runs, and waits up to `abortGraceMs`. */
  async close(): Promise<void> {
    const { drainMs, abortGraceMs } = this.options;
    const runs = this.open();
    const calls = [...this.calls];
    const idle = (): boolean => !calls.some((call) => this.calls.has(call)) && !runs.some((run) => run.open);
    // Requests still come while this waits, and the server waits for them afterwards: they have until the same time.
    setTimeout(() => this.stop(), drainMs).unref();
    if (await reached(idle, drainMs)) return;
    this.stop();
    await reached(idle, abortGraceMs);
  }

  private stop(): void {
    this.stopping.abort(new Error('The app is shutting down.'));
    for (const run of this.open()) run.revoke(SHUTDOWN);
  }

  private open(): Run[] {
    return [...this.rounds.values()].flatMap(({ members }) => members as readonly Run[]);
  }

  private roundsOf(leaseMs: number): Rounds {
    let rounds = this.rounds.get(leaseMs);
    if (rounds === undefined) {
      rounds = new Rounds(leaseMs, () => this.rounds.delete(leaseMs));
      this.rounds.set(leaseMs, rounds);
    }
    return rounds;
  }
}

async function reached(condition: () => boolean, withinMs: number): Promise<boolean> {
  const until = performance.now() + withinMs;
  while (!condition()) {
    const leftMs = until - performance.now();
    if (leftMs <= 0) return false;
    await sleep(Math.min(LOOK_EVERY_MS, leftMs));
  }
  return true;
}
