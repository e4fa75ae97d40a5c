import { defineScript, int, list, str } from 'luanest/script-registry';
import {
  blockLua,
  consumeFixedWindowLua,
  consumeFixedWindowsLua,
  consumeLua,
  readWindowsLua,
  refundLua,
  resetLua,
} from './scripts/generated';

export interface Consumed {
  /** First 1 if the request is allowed, else 0; then per rule four integers, as consume.lua says. */
  readonly decisions: readonly number[];
  /** Time of the decision by Redis' clock, us since 1970. */
  readonly atUs: number;
}

export const consume = defineScript({
  name: 'rate-limit.consume',
  ...consumeLua,
  keys: ['keys[]'],
  args: { charge: int, rules: list(str) },
  reply: (decisions: readonly number[], atUs): Consumed => ({ decisions, atUs }),
  timed: true,
});

/** Charges one rule with a fixed window and without `blockMs`. The reply is a number if the request is allowed. */
export const consumeFixedWindow = defineScript({
  name: 'rate-limit.consume-fixed-window',
  ...consumeFixedWindowLua,
  keys: ['counter'],
  args: { limit: int, windowMs: int, cost: int },
  reply: (raw: number | readonly [used: number, resetMs: number]) => raw,
});

/**
 * Charges several rules with fixed windows and without `blockMs`, or none of them if one refuses. Per counter the reply has two
 * numbers: hits in the window, including the hits of this request, also if it is refused; ms to its end.
 */
export const consumeFixedWindows = defineScript({
  name: 'rate-limit.consume-fixed-windows',
  ...consumeFixedWindowsLua,
  keys: ['counters[]'],
  args: { parameters: str },
  reply: (windows: readonly number[]) => windows,
});

/**
 * Reads when fixed windows end. Per counter the reply has two numbers: the end of the window, ms since 1970; ms to its end.
 * Negative if unknown.
 */
export const readWindows = defineScript({
  name: 'rate-limit.read-windows',
  ...readWindowsLua,
  keys: ['counters[]'],
  args: {},
  reply: (windows: readonly number[]) => windows,
  flags: ['no-writes'],
});

export const refund = defineScript({
  name: 'rate-limit.refund',
  ...refundLua,
  keys: ['states[]'],
  args: { rules: list(str) },
  reply: (given: number[]) => given,
});

export const reset = defineScript({
  name: 'rate-limit.reset',
  ...resetLua,
  keys: ['state', 'penalty'],
  args: { windowMs: int },
  reply: ([deleted = 0]: number[]) => deleted,
});

export const block = defineScript({
  name: 'rate-limit.block',
  ...blockLua,
  keys: ['state', 'penalty'],
  args: { blockMs: int, memoryMs: int },
  reply: ([strikes = 0]: number[]) => strikes,
});

export const rateLimitScripts = [consume, consumeFixedWindow, consumeFixedWindows, readWindows, refund, reset, block];
