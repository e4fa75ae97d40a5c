import type { ChargedHits, Span, Verdict } from './limiter.port';

/** Most that the clocks of two machines are assumed to drift apart, ms per ms. */
const DRIFT = 0.001;
/** Most that two times of Redis in whole ms differ from the time between them, ms. */
const ROUNDING_MS = 2;

/**
 * Returns the number that identifies charged hits for a refund: for a fixed window its end, ms since 1970, since the windows of a
 * subject end at different times; for other algorithms the time of the charge, us since 1970. Undefined if the limiter read no
 * clock; then `endOfCharged` finds the end of the window.
 */
export function chargeOf({ check, verdict: { at, resetMs } }: ChargedHits): number | undefined {
  if (typeof at !== 'number') return undefined;
  return check.rule.algorithm === 'fixed-window' ? Math.floor(at / 1_000) + resetMs : at;
}

/**
 * Returns the end of the fixed window that was charged, ms since 1970; undefined if that window has ended or cannot be found.
 * The end is negative, which is how refund.lua knows that it was found by reading.
 *
 * The charge and the reading of the present window were each made between two readings of one clock. So the time between them is
 * known, except for the round trips, and with it the time that the charged window has left at the reading. A later window of the
 * subject has at least `windowMs` more left. If the round trips took as long as that, the windows cannot be distinguished, and the
 * result is undefined.
 *
 * @param present what a peek found in the counter
 * @param reading when `present` was read
 */
export function endOfCharged(hits: ChargedHits, present: Verdict, reading: Span): number | undefined {
  const { check, verdict } = hits;
  const charging = verdict.at as Span;
  const [least, most] = [reading.fromMs - charging.toMs, reading.toMs - charging.fromMs];
  const slackMs = ROUNDING_MS + most * DRIFT;
  const [fewestMs, mostMs] = [verdict.resetMs - most - slackMs, verdict.resetMs - least + slackMs];
  if (mostMs - fewestMs >= check.rule.windowMs) return undefined;
  const leftMs = present.verdict === 2 || present.used === 0 ? -1 : present.resetMs;
  if (leftMs < Math.max(0, fewestMs) || leftMs > mostMs) return undefined;
  return -(Math.floor((present.at as number) / 1_000) + leftMs);
}
