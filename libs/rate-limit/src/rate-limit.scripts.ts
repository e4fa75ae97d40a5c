import { defineScript, int, list, str } from 'luanest/script-registry';
import type { Verdict, Verdicts } from './limiter/limiter.port';
import {
  blockLua,
  consumeFixedWindowLua,
  consumeFixedWindowsLua,
  consumeLua,
  refundLua,
  resetLua,
} from './scripts/generated';

function verdictsOf([allowed = 0, ...flat]: number[], atUs: number): Verdicts {
  const rules: Verdict[] = [];
  for (let i = 0; i < flat.length; i += 4) {
    const [verdict, used, resetMs, nextMs] = flat.slice(i, i + 4) as [number, number, number, number];
    rules.push({ verdict, used, resetMs, retryMs: verdict === 0 ? 0 : nextMs, nextMs, atUs });
  }
  return { allowed: allowed === 1, rules };
}

export const consume = defineScript({
  name: 'rate-limit.consume',
  ...consumeLua,
  keys: ['keys[]'],
  args: { charge: int, rules: list(str) },
  reply: verdictsOf,
  timed: true,
});

/** Charges one rule with a fixed window and without `blockMs`. */
export const consumeFixedWindow = defineScript({
  name: 'rate-limit.consume-fixed-window',
  ...consumeFixedWindowLua,
  keys: ['counter'],
  args: { limit: int, windowMs: int, cost: int },
  reply: (raw: readonly [number, number], atUs): Verdicts => {
    const [used, resetMs] = [raw[0], raw[1]];
    return used >= 0
      ? { allowed: true, rules: [{ verdict: 0, used, resetMs, retryMs: 0, nextMs: resetMs, atUs }] }
      : { allowed: false, rules: [{ verdict: 1, used: -1 - used, resetMs, retryMs: resetMs, nextMs: resetMs, atUs }] };
  },
  timed: true,
});

export interface FixedWindows {
  /** Per counter two numbers: hits in the window, including the hits of this request, also if it is refused; ms to its end. */
  readonly windows: readonly number[];
  readonly atUs: number;
}

/** Charges several rules with fixed windows and without `blockMs`, or none. The caller computes the verdicts from the reply. */
export const consumeFixedWindows = defineScript({
  name: 'rate-limit.consume-fixed-windows',
  ...consumeFixedWindowsLua,
  keys: ['counters[]'],
  args: { parameters: str },
  reply: (windows: readonly number[], atUs): FixedWindows => ({ windows, atUs }),
  timed: true,
});

export const refund = defineScript({
  name: 'rate-limit.refund',
  ...refundLua,
  keys: ['states[]'],
  args: { chargedUs: int, rules: list(str) },
  reply: (given: number[]) => given,
});

export const reset = defineScript({
  name: 'rate-limit.reset',
  ...resetLua,
  keys: ['state', 'penalty'],
  args: {},
  reply: ([deleted = 0]: number[]) => deleted,
});

export const block = defineScript({
  name: 'rate-limit.block',
  ...blockLua,
  keys: ['state', 'penalty'],
  args: { blockMs: int, memoryMs: int },
  reply: ([strikes = 0]: number[]) => strikes,
});

export const rateLimitScripts = [consume, consumeFixedWindow, consumeFixedWindows, refund, reset, block];
