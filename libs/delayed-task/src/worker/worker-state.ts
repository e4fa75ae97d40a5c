import { setTimeout as after } from 'node:timers/promises';
import { Retries } from '../../../internal/src';
import { events, type WorkerErrorEvent } from '../delayed-task.events';

/** What the parts of a worker have in common: whether it closes, and what is still on its way. */
export class WorkerState {
  /** Nothing more is taken. */
  closing = false;
  private isStopped = false;
  private readonly calls = new Retries<WorkerErrorEvent['during']>((during, error) => this.tell(during, error));
  private readonly under = new Set<Promise<unknown>>();

  constructor(private readonly queue: string) {}

  /** Nothing more is sent. */
  get stopped(): boolean {
    return this.isStopped;
  }

  /** Sends nothing more. */
  stop(): void {
    this.isStopped = true;
    this.calls.close();
  }

  /** Lets `settled` await what was begun. */
  track(work: Promise<unknown>): void {
    this.under.add(work);
    const forget = (): void => void this.under.delete(work);
    work.then(forget, forget);
  }

  /** Resolves when nothing is on its way. */
  async settled(): Promise<void> {
    while (this.under.size > 0) await Promise.allSettled(this.under);
  }

  tell(during: WorkerErrorEvent['during'], error: unknown): void {
    events.error.publish(() => ({ queue: this.queue, during, error }));
  }

  /**
   * Asks Redis until it answers, or until the worker has stopped: what is asked so is harmless twice.
   *
   * @returns undefined when the worker stopped before
   */
  insist<T>(during: WorkerErrorEvent['during'], ask: () => Promise<T>): Promise<T | undefined> {
    return this.calls.run(during, () => this.stopped, ask);
  }
}

/** Waits for `work`, at most `ms`. @returns whether it ended in time */
export async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController();
  const late = after(ms, false, { signal: timer.signal }).catch(() => false);
  const inTime = work.then(
    () => true,
    () => true,
  );
  const result = await Promise.race([inTime, late]);
  timer.abort();
  return result;
}
