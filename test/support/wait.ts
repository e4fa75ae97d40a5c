// Imported instead of taken from the global object, so that Jest's fake timers cannot stop the waiting.
import { performance } from 'node:perf_hooks';
import { sleep } from '../../libs/testing/src/servers/wait';

export { eventually, type EventuallyOptions, sleep } from '../../libs/testing/src/servers/wait';

/**
 * Calls `ask` until its result is truthy, and returns the result. If `ask` throws, the waiting ends at once, unlike `eventually`.
 *
 * @throws Error that names `what`, after `timeoutMs`
 */
export async function waitUntil<T>(
  what: string,
  ask: () => T | Promise<T>,
  timeoutMs = 45_000,
): Promise<NonNullable<T>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (performance.now() > deadline) throw new Error(`Waited ${timeoutMs} ms in vain until ${what}`);
    await sleep(20);
  }
}
