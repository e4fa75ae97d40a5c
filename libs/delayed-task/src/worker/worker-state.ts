import { setTimeout as after } from 'node:timers/promises';
import { events, type WorkerErrorEvent } from '../delayed-task.events';

/** What the parts of a worker have in common: whether it closes, and what is still on its way. */
export class WorkerState {
  /** Nothing more is taken. */
  closing = false;
  /** Nothing more is sent. */
  stopped = false;
  private readonly under = new Set<Promise<unknown>>();

  constructor(private readonly queue: string) {}

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
  async insist<T>(during: WorkerErrorEvent['during'], ask: () => Promise<T>): Promise<T | undefined> {
    for (let pauseMs = 20; !this.stopped; pauseMs = Math.min(1_000, pauseMs * 2)) {
      try {
        return await ask();
      } catch (error) {
        this.tell(during, error);
      }
      await after(pauseMs * (0.5 + Math.random() / 2), undefined, { ref: false });
    }
    return undefined;
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
