import { defineScript, int, list, str } from 'luanest/script-registry';
import {
  blockLua,
  consumeFixedWindowLua,
  consumeFixedWindowsLua,
  consumeLua,
  refundLua,
  resetLua,
} from './scripts/generated';

/**
 * Reply of the script `consume`: 1 if the request is allowed, otherwise 0; the time of the decision, us since 1970; then four integers per
 * rule (see consume.lua).
 */
export type Consumed = readonly number[];

export const consume = defineScript({
  name: 'rate-limit.consume',
  ...consumeLua,
  keys: ['keys[]'],
  args: { charge: int, rules: list(str) },
  reply: (decisions: Consumed) => decisions,
});

/**
 * Counts a request under one rule that has a fixed window and no `blockMs`. If the request is allowed, the reply is a positive number,
 * which contains hits and time (see consume-fixed-window.lua). If the rule refuses, it is an array. It is 0 if only the script `consume`
 * can decide the request, for example after a block or a reset.
 * See DECISIONS.md: short-scripts-for-fixed-windows
 */
export const consumeFixedWindow = defineScript({
  name: 'rate-limit.consume-fixed-window',
  ...consumeFixedWindowLua,
  keys: ['counter'],
  args: { limit: int, windowMs: int, cost: int },
  reply: (raw: number | readonly [used: number, resetMs: number]) => raw,
});

/**
 * Counts a request under several rules that have fixed windows and no `blockMs`, or under none of them if one refuses. The reply
 * has two numbers per counter: the hits in the window, and the time until the window ends, ms. The hits of this request are
 * included, even if it is refused. The reply is 0 if only the script `consume` can decide the request, for example after a block.
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
