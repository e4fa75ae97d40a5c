import { type Checks, type KnownOptions } from '../../internal/src';

/**
 * Pauses between attempts, with exponential backoff. The pause after failed attempt number `n` is `delayMs * factor ^ (n - 1)`, at most
 * `maxDelayMs`. Each pause is then shortened by a random part of up to 50 %.
 */
export interface Backoff {
  /** Pause after the first failed attempt, ms; integer from 0 to 100 years. Default 1,000. */
  readonly delayMs?: number;
  /** Factor by which a pause is multiplied after each attempt; number from 1 to 1,000. Default 2. */
  readonly factor?: number;
  /** Longest pause, ms; integer from `delayMs` to 100 years. Default: 1 hour, or `delayMs` if that is longer. */
  readonly maxDelayMs?: number;
}

export type ResolvedBackoff = Required<Backoff>;

const KNOWN: KnownOptions<Backoff> = { delayMs: true, factor: true, maxDelayMs: true };
const MOST_MS = 36_500 * 86_400_000;
const HOUR_MS = 3_600_000;

/** Checks the option `backoff`, and fills in its defaults. @throws the error of `where` for an invalid value */
export function resolveBackoff(value: unknown, where: Checks): ResolvedBackoff {
  const given = typeof value === 'number' ? { delayMs: value } : value;
  if (typeof given !== 'object' || given === null) {
    where.refuse('backoff', value, 'an object { delayMs?, factor?, maxDelayMs? }, or a number of milliseconds');
  }
  const { delayMs = 1_000, factor = 2, maxDelayMs } = where.options<Backoff>('backoff', given, KNOWN);
  const inside = where.in('backoff');
  const first = inside.integer('delayMs', delayMs, 0, MOST_MS);
  return Object.freeze({
    delayMs: first,
    factor: inside.number('factor', factor, 1, 1_000),
    maxDelayMs: inside.integer('maxDelayMs', maxDelayMs ?? Math.max(HOUR_MS, first), first, MOST_MS),
  });
}

/**
 * Returns the pause before the next attempt, ms.
 *
 * @param attempt number of the attempt that failed, at least 1
 * @param random random number, at least 0 and less than 1
 */
export function delayAfter(attempt: number, backoff: ResolvedBackoff, random = Math.random()): number {
  const { delayMs, factor, maxDelayMs } = backoff;
  // After many attempts, `factor ** (attempt - 1)` may be Infinity, and 0 * Infinity would be NaN.
  const whole = delayMs === 0 ? 0 : Math.min(maxDelayMs, delayMs * factor ** (attempt - 1));
  return Math.round(whole * (1 - random / 2));
}
