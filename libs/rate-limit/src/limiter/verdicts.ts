import type { Consumed } from '../rate-limit.scripts';
import type { Check, Span, Verdict, Verdicts } from './limiter.port';

/** Returns the verdicts of a reply of `consume`. */
export function verdictsOf(decisions: Consumed): Verdicts {
  const at = decisions[1] as number;
  const rules: Verdict[] = [];
  for (let i = 2; i < decisions.length; i += 4) {
    const [verdict, used, resetMs, nextMs] = decisions.slice(i, i + 4) as [number, number, number, number];
    rules.push({ verdict, used, resetMs, retryMs: verdict === 0 ? 0 : nextMs, nextMs, at });
  }
  return { allowed: decisions[0] === 1, rules };
}

/** Returns the verdict of a reply of `consumeFixedWindow`. */
export function verdictOfWindow(
  { rule: { windowMs } }: Check,
  reply: number | readonly [used: number, resetMs: number],
  at: Span,
): Verdicts {
  if (typeof reply === 'number') {
    const resetMs = reply % (windowMs + 1);
    const used = (reply - resetMs) / (windowMs + 1);
    return { allowed: true, rules: [{ verdict: 0, used, resetMs, retryMs: 0, nextMs: resetMs, at }] };
  }
  const [used, resetMs] = reply;
  return { allowed: false, rules: [{ verdict: 1, used, resetMs, retryMs: resetMs, nextMs: resetMs, at }] };
}

/** Returns the verdicts of a reply of `consumeFixedWindows`, which charged all checks or none of them. */
export function verdictsOfWindows(checks: readonly Check[], windows: readonly number[], at: Span): Verdicts {
  const allowed = checks.every(({ limit }, i) => (windows[2 * i] as number) <= limit);
  const rules = checks.map(({ limit, cost }, i): Verdict => {
    const [withOwn, leftMs] = [windows[2 * i] as number, windows[2 * i + 1] as number];
    const over = withOwn > limit;
    const used = allowed ? withOwn : withOwn - cost;
    const resetMs = used > 0 ? leftMs : 0;
    return { verdict: over ? 1 : 0, used, resetMs, retryMs: over ? leftMs : 0, nextMs: over ? leftMs : resetMs, at };
  });
  return { allowed, rules };
}
