import { chargeOf, type Check, Decision, endOfCharged, type Verdict } from '../src/limiter/decision';
import { verdictOfWindow, verdictsOf, verdictsOfWindows } from '../src/limiter/redis-limiter';
import { ruleOf } from './support';

const at = { fromMs: 10, toMs: 12 };

function checkOf(limit: number, cost = 1, options: Partial<Parameters<typeof ruleOf>[0]> = {}): Check {
  return { rule: ruleOf({ name: 'r', limit, windowMs: 1_000, ...options }), subject: 's', limit, cost };
}

function verdictOf(check: Check, verdict: number, used: number, retryMs = 0): Verdict {
  return { check, verdict, used, resetMs: 700, retryMs, nextMs: 300, at: 5_000_000 };
}

describe('verdicts of a reply of Redis', () => {
  it('of several rules have four numbers each', () => {
    const numbers = [...[0, 3, 900, 400], ...[1, 5, 800, 300], ...[2, 5, 700, 200]];
    const [one, two, three] = [checkOf(5), checkOf(6), checkOf(7)] as const;
    expect(verdictsOf([one, two, three], [1, 17, ...numbers])).toEqual([
      { check: one, verdict: 0, used: 3, resetMs: 900, retryMs: 0, nextMs: 400, at: 17 },
      { check: two, verdict: 1, used: 5, resetMs: 800, retryMs: 300, nextMs: 300, at: 17 },
      { check: three, verdict: 2, used: 5, resetMs: 700, retryMs: 200, nextMs: 200, at: 17 },
    ]);
  });

  it('of one fixed window are one number if it allows, else two', () => {
    const check = checkOf(5);
    expect(verdictOfWindow(check, 3 * 1_001 + 1_000, at)).toEqual({
      ...{ check, verdict: 0, used: 3, resetMs: 1_000, retryMs: 0, nextMs: 1_000, at },
    });
    expect(verdictOfWindow(check, [5, 40], at)).toEqual({
      ...{ check, verdict: 1, used: 5, resetMs: 40, retryMs: 40, nextMs: 40, at },
    });
  });

  it('of several fixed windows are charged together or not at all', () => {
    const checks = [checkOf(5, 2), checkOf(3, 1)];
    expect(verdictsOfWindows(checks, [5, 900, 3, 800], at)).toEqual([
      { check: checks[0], verdict: 0, used: 5, resetMs: 900, retryMs: 0, nextMs: 900, at },
      { check: checks[1], verdict: 0, used: 3, resetMs: 800, retryMs: 0, nextMs: 800, at },
    ]);
    expect(verdictsOfWindows(checks, [2, 1_000, 4, 800], at)).toEqual([
      { check: checks[0], verdict: 0, used: 0, resetMs: 0, retryMs: 0, nextMs: 0, at },
      { check: checks[1], verdict: 1, used: 3, resetMs: 800, retryMs: 800, nextMs: 800, at },
    ]);
  });
});

describe('a decision', () => {
  const limited = checkOf(5);
  const shadow = checkOf(1, 1, { shadow: true });
  const bucket = checkOf(10, 3, { name: 'b', algorithm: 'token-bucket', burst: 4 });

  it('shows each rule and its numbers', () => {
    const verdicts = [verdictOf(limited, 0, 2), verdictOf(shadow, 1, 1, 400), verdictOf(bucket, 0, 3)];
    const decision = new Decision('redis', verdicts, true);
    expect([decision.allowed, decision.reason, decision.retryAfterMs, decision.source]).toEqual([
      ...[true, undefined, 0, 'redis'],
    ]);
    const common = { windowMs: 1_000, resetMs: 700, nextMs: 300, blocked: false };
    const [one, two, three] = [
      { name: 'r', algorithm: 'fixed-window', allowed: true, shadow: false, limit: 5, capacity: 5, cost: 1, used: 2 },
      { name: 'r', algorithm: 'fixed-window', allowed: false, shadow: true, limit: 1, capacity: 1, cost: 1, used: 1 },
      { name: 'b', algorithm: 'token-bucket', allowed: true, shadow: false, limit: 10, capacity: 4, cost: 3, used: 3 },
    ];
    expect(decision.rules).toEqual([
      { ...common, ...one, remaining: 3, retryAfterMs: 0 },
      { ...common, ...two, remaining: 0, retryAfterMs: 400 },
      { ...common, ...three, remaining: 1, retryAfterMs: 0 },
    ]);
    expect(decision.rules).toBe(decision.rules);
    expect(decision.policies).toEqual([decision.rules[0], decision.rules[2]]);
    expect(JSON.parse(JSON.stringify(decision))).toEqual({
      ...{ allowed: true, source: 'redis', retryAfterMs: 0 },
      ...{ rules: decision.rules, policies: decision.policies },
    });
  });

  it('has the longest wait of the rules that refuse, but for shadow rules', () => {
    type Numbers = [verdict: number, used: number, retryMs?: number];
    const decided = (checks: Check[], numbers: Numbers[]): Decision =>
      new Decision('redis', numbers.map((of, i) => verdictOf(checks[i] as Check, ...of)), true); // prettier-ignore
    const refused = (checks: Check[], numbers: Numbers[]): unknown[] => {
      const { allowed, reason, retryAfterMs } = decided(checks, numbers);
      return [allowed, reason, retryAfterMs];
    };
    const two = [limited, checkOf(3), shadow];
    expect(refused(two, [[1, 5, 400], [1, 3, 900], [1, 1, 5_000]])).toEqual([false, 'over-limit', 900]); // prettier-ignore
    expect(refused(two, [[1, 5, 400], [0, 3, 900], [2, 1, 5_000]])).toEqual([false, 'over-limit', 400]); // prettier-ignore
    expect(refused(two, [[1, 5, 400], [2, 3, 300], [0, 1]])).toEqual([false, 'blocked', 400]); // prettier-ignore
    expect(refused(two, [[0, 5], [0, 3], [1, 1, 5_000]])).toEqual([true, undefined, 0]); // prettier-ignore
    const never = [limited, checkOf(3, 4)];
    expect(refused(never, [[1, 5, 400], [1, 3, 1_000]])).toEqual([false, 'cost-over-limit', Infinity]); // prettier-ignore
    const decision = decided(never, [[2, 5, 9], [1, 3, 9]]); // prettier-ignore
    expect(
      decision.rules.map(({ nextMs, retryAfterMs, blocked, remaining }) => [nextMs, retryAfterMs, blocked, remaining]),
    ).toEqual([
      [300, 9, true, 0],
      [Infinity, Infinity, false, 0],
    ]);
  });

  it('returns what it charged once, if it charged', () => {
    const free = checkOf(5, 0);
    const verdicts = [
      ...[verdictOf(limited, 0, 1), verdictOf(shadow, 1, 1)],
      ...[verdictOf(free, 0, 1), verdictOf(bucket, 0, 3)],
    ];
    const refusal = verdictOf(limited, 1, 5, 400);
    const make = (allowed: boolean, charged: boolean, denied = false): Decision =>
      new Decision('redis', allowed ? verdicts : [...verdicts, refusal], charged, denied);
    const decision = make(true, true);
    expect(Decision.takeCharged(decision)).toEqual([verdicts[0], verdicts[3]]);
    expect(Decision.takeCharged(decision)).toEqual([]);
    expect(Decision.takeCharged(make(true, true), (check) => check === bucket)).toHaveLength(1);
    for (const none of [make(true, false), make(false, true), make(true, true, true)])
      expect(Decision.takeCharged(none)).toEqual([]);
    expect(Decision.takeCharged({ ...make(true, true).toJSON() })).toEqual([]);
  });

  it('without verdicts allows or denies all', () => {
    const seen = (decision: Decision): unknown[] => [
      decision.allowed,
      decision.reason,
      decision.source,
      decision.retryAfterMs,
    ];
    expect(seen(Decision.without('none', true))).toEqual([true, undefined, 'none', 0]);
    const denied = Decision.without('policy', false);
    expect([...seen(denied), denied.rules, denied.policies]).toEqual([false, 'redis-error', 'policy', 0, [], []]);
  });

  it('has the policies of all checks of the request, also of those that were not evaluated', () => {
    const decision = new Decision('redis', [], false, false, [limited, shadow, bucket]);
    expect(decision.policies).toEqual([
      { name: 'r', limit: 5, windowMs: 1_000, capacity: 5 },
      { name: 'b', limit: 10, windowMs: 1_000, capacity: 4 },
    ]);
  });
});

describe('a charge', () => {
  it('is known by the end of its fixed window, or by its time', () => {
    const hits = { ...verdictOf(checkOf(5), 0, 1), at: 5_000_999 };
    expect(chargeOf(hits)).toBe(5_700);
    expect(chargeOf({ ...hits, check: checkOf(5, 1, { algorithm: 'sliding-log' }) })).toBe(5_000_999);
    expect(chargeOf({ ...hits, at })).toBeUndefined();
  });

  it('without a clock has its window, if the times fit', () => {
    const hits = { ...verdictOf(checkOf(5), 0, 1), at };
    const endsAtMs = -99_000;
    const present = (leftMs: number) => ({
      ...hits,
      resetMs: leftMs,
      at: (99_000 - Math.floor(leftMs)) * 1_000,
    });
    // 88 to 94 ms after the charge, so 606 to 612 ms are left, with 2.094 ms of slack.
    const end = (leftMs: number, reading = { fromMs: 100, toMs: 104 }): number | undefined =>
      endOfCharged(hits, present(leftMs), reading);
    expect([603, 604, 614, 615].map((left) => end(left))).toEqual([undefined, endsAtMs, endsAtMs, undefined]);
    expect([end(0, { fromMs: 712, toMs: 712 }), end(-1, { fromMs: 712, toMs: 712 })]).toEqual([endsAtMs, undefined]);
    expect(endOfCharged(hits, { ...present(610), verdict: 2 }, { fromMs: 100, toMs: 104 })).toBeUndefined();
    expect(endOfCharged(hits, { ...present(0), used: 0 }, { fromMs: 712, toMs: 712 })).toBeUndefined();
    // Round trips as long as the window.
    expect(end(300, { fromMs: 20, toMs: 1_020 })).toBeUndefined();
    expect(end(300, { fromMs: 20, toMs: 1_010 })).toBe(endsAtMs);
  });
});
