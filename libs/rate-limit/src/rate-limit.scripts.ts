import { defineScript, int, list, str } from 'luanest/script-registry';
import {
  blockLua,
  consumeFixedWindowLua,
  consumeFixedWindowsLua,
  consumeLua,
  refundLua,
  resetLua,
} from './scripts/generated';

/** Reply of `consume`: 1 if the request is allowed, otherwise 0; time of the decision, us; per rule four integers. See consume.lua. */
export type Consumed = readonly number[];

export const consume = defineScript({
  name: 'rate-limit.consume',
  ...consumeLua,
  keys: ['keys[]'],
  args: { charge: int, rules: list(str) },
  reply: (decisions: Consumed) => decisions,
});

/**
 * Charges one rule with a fixed window and without `blockMs`. The reply is a number if the request is allowed, and 0 if only
 * `consume` can decide it. See DECISIONS.md: short-scripts-for-fixed-windows
 */
export const consumeFixedWindow = defineScript({
  name: 'rate-limit.consume-fixed-window',
  ...consumeFixedWindowLua,
  keys: ['counter'],
  args: { limit: int, windowMs: int, cost: int },
  reply: (raw: number | readonly [used: number, resetMs: number]) => raw,
});

/**
 * Charges several rules with fixed windows and without `blockMs`, or none of them if one refuses. Per counter the reply has two
 * numbers: hits in the window, including the hits of this request, also if it is refused; ms to its end. The reply is 0 if only
 * `consume` can decide the request.
 */
export const consumeFixedWindows = defineScript({
  name: 'rate-limit.consume-fixed-windows',
  ...consumeFixedWindowsLua,
  keys: ['counters[]'],
  args: { rules: list(int) },
  reply: (windows: 0 | readonly number[]) => windows,
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
  group: false,
  reply: (deleted: number) => deleted,
});

export const block = defineScript({
  name: 'rate-limit.block',
  ...blockLua,
  keys: ['state', 'penalty'],
  args: { blockMs: int, memoryMs: int },
  group: false,
  reply: (strikes: number) => strikes,
});

export const rateLimitScripts = [consume, consumeFixedWindow, consumeFixedWindows, refund, reset, block];
