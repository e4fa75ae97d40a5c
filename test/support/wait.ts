// Taken from the module and not from the global object, so that Jest's fake timers cannot stop the waiting.
import { performance } from 'node:perf_hooks';
import { setTimeout as sleepMs } from 'node:timers/promises';

export interface EventuallyOptions {
  timeoutMs?: number;
  everyMs?: number;
}

export async function sleep(ms: number): Promise<void> {
  await sleepMs(ms);
}

/** Runs `fn` until it does not throw and resolves with what it returned; after `timeoutMs` rejects with the last error. */
export async function eventually<T>(fn: () => T | Promise<T>, options: EventuallyOptions = {}): Promise<T> {
  const { timeoutMs = 10_000, everyMs = 20 } = options;
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await fn();
    } catch (error) {
      if (performance.now() >= deadline) throw error;
    }
    await sleepMs(everyMs);
  }
}
