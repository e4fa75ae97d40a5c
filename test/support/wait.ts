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
  const { timeoutMs = 30_000, everyMs = 20 } = options;
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

/**
 * Asks until the answer is truthy and returns it. What `ask` throws ends the waiting at once, unlike `eventually`'s `fn`.
 *
 * @throws Error that names `what`, after `timeoutMs`
 */
export async function waitUntil<T>(
  what: string,
  ask: () => T | Promise<T>,
  timeoutMs = 20_000,
): Promise<NonNullable<T>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (performance.now() > deadline) throw new Error(`Waited ${timeoutMs} ms in vain until ${what}`);
    await sleepMs(20);
  }
}
