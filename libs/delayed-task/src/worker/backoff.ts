import type { ResolvedBackoff } from '../delayed-task.options';

/**
 * Returns the pause before the next attempt, ms: the pause of the backoff, shortened by up to half at random.
 *
 * @param failures number of the attempt that failed, at least 1
 * @param random number from 0 to below 1
 */
export function delayAfter(failures: number, backoff: ResolvedBackoff, random = Math.random()): number {
  const { delayMs, factor, maxDelayMs } = backoff;
  // 0 * Infinity would be NaN.
  const whole = delayMs === 0 ? 0 : Math.min(maxDelayMs, delayMs * factor ** (failures - 1));
  return Math.round(whole * (1 - random / 2));
}
