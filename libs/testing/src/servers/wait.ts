import { performance } from 'node:perf_hooks';
import * as timers from 'node:timers/promises';

// The fake timers of a test may replace this function later, so the real one is saved when this file is loaded.
const { setTimeout: sleepMs } = timers;

export interface EventuallyOptions {
  timeoutMs?: number;
  /** Pause between two calls, ms. Default: 20 in the first half second, then 50, because each call costs CPU. */
  everyMs?: number;
}

export async function sleep(ms: number): Promise<void> {
  await sleepMs(ms);
}

/** Calls `fn` until it does not throw, and returns its result. After `timeoutMs` (default 30,000), rejects with the last error. */
export async function eventually<T>(fn: () => T | Promise<T>, options: EventuallyOptions = {}): Promise<T> {
  const { timeoutMs = 30_000, everyMs } = options;
  const start = performance.now();
  for (;;) {
    try {
      return await fn();
    } catch (error) {
      if (performance.now() >= start + timeoutMs) throw error;
    }
    await sleepMs(everyMs ?? (performance.now() < start + 500 ? 20 : 50));
  }
}
