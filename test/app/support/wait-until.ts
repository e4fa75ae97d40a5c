import { setTimeout as sleep } from 'node:timers/promises';

/** Asks until the answer is truthy and returns it. @throws {Error} after `patienceMs`, default 20,000 */
export async function waitUntil<T>(
  what: string,
  ask: () => T | Promise<T>,
  patienceMs = 20_000,
): Promise<NonNullable<T>> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > deadline) throw new Error(`Waited ${patienceMs} ms in vain until ${what}`);
    await sleep(20);
  }
}
