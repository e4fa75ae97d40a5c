import fc from 'fast-check';
import type { Limiter, Verdict } from '../src/limiter/decision';
import { MemoryLimiter } from '../src/limiter/memory-limiter';
import type { RedisLimiter } from '../src/limiter/redis-limiter';
import { ruleOf, standalone, TestClock } from './support';
import { size } from '../../../test/support/size';

const LIMIT = 20;
const budget = () => {
  const now = performance.now();
  return { calledAtMs: now, startedAtMs: now, deadlineMs: 10_000 };
};

let clock: TestClock;
let limiter: RedisLimiter;
let done: { close(): void };
beforeAll(async () => {
  const opened = await TestClock.open(standalone());
  ({ clock, limiter } = opened);
  done = opened;
});
afterAll(() => done.close());

interface Charge {
  readonly atUs: number;
  readonly cost: number;
  readonly verdict: Verdict;
  kept: boolean;
}

/** Returns the level of a bucket after these charges and no refund; it drains over time, never below 0. */
function levelWith(charges: readonly Charge[], nowUs: number): number {
  let [level, at] = [0, 0];
  for (const { atUs, cost } of charges.filter(({ kept }) => kept)) {
    level = Math.max(0, level - ((atUs - at) * LIMIT) / 1_000_000) + cost;
    at = atUs;
  }
  return Math.max(0, level - ((nowUs - at) * LIMIT) / 1_000_000);
}

let serial = 0;

/** Does the steps; returns what the bucket holds, and what it would without what was given back. */
async function play(
  limiterOf: Limiter,
  setUs: (us: number) => Promise<void> | void,
  steps: readonly { refund: boolean; pick: number; cost: number; waitUs: number }[],
): Promise<[level: number, expected: number]> {
  const rule = ruleOf({
    name: `b${serial++}`,
    algorithm: 'token-bucket',
    limit: LIMIT,
    burst: 100_000,
    windowMs: 1_000,
  });
  const check = (cost: number) => ({ rule, subject: 's', limit: LIMIT, cost });
  const charges: Charge[] = [];
  let nowUs = clock.nowUs;
  for (const { refund, pick, cost, waitUs } of steps) {
    nowUs += waitUs;
    await setUs(nowUs);
    const live = charges.filter(({ kept }) => kept);
    const charge = live[pick % Math.max(1, live.length)];
    if (refund && charge) {
      charge.kept = false;
      await limiterOf.refund([charge.verdict], 10_000);
    } else {
      const [verdict] = await limiterOf.consume([check(cost)], true, budget());
      charges.push({ atUs: nowUs, cost, verdict: verdict as Verdict, kept: true });
    }
  }
  const [present] = await limiterOf.consume([check(0)], false, budget());
  return [present?.resetMs ?? -1, Math.ceil((levelWith(charges, nowUs) * 1_000) / LIMIT)];
}

const step = fc.record({
  refund: fc.boolean(),
  pick: fc.nat(50),
  cost: fc.constantFrom(1, 1, 2, 5),
  waitUs: fc.oneof(fc.constantFrom(0, 1, 1_000), fc.integer({ min: 0, max: 200_000 })),
});
const runs = { numRuns: size(15, 2_000), seed: 20_261_122 };

describe.each<[string, () => [Limiter, (us: number) => Promise<void> | void]]>([
  ['the script', () => [limiter, (us) => clock.set(us)]],
  [
    'the model',
    () => {
      let nowUs = clock.nowUs;
      return [new MemoryLimiter(() => nowUs, 1_000_000), (us) => void (nowUs = us)];
    },
  ],
])('a token bucket of %s', (_what, open) => {
  it('has after refunds the level that it would have without the charges', async () => {
    const [of, setUs] = open();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 14 }), async (steps) => {
        const [resetMs, expected] = await play(of, setUs, steps);
        // Up to eight lows are kept exactly, each to a ten thousandth of a hit.
        expect(Math.abs(resetMs - expected)).toBeLessThanOrEqual(1);
      }),
      runs,
    );
  });

  it('never refunds more, for any number of overlapping charges', async () => {
    const [of, setUs] = open();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 80 }), async (steps) => {
        const [resetMs, expected] = await play(of, setUs, steps);
        expect(resetMs).toBeGreaterThanOrEqual(expected - 1);
      }),
      { ...runs, numRuns: runs.numRuns / 5 },
    );
  });

  it('refunds everything to a bucket that was never empty, also after concurrent charges', async () => {
    const [of, setUs] = open();
    const burst = Array.from({ length: 600 }, (_, i) => ({ refund: false, pick: 0, cost: 1, waitUs: i % 50 ? 0 : 40 }));
    const back = Array.from({ length: 420 }, (_, i) => ({
      refund: true,
      pick: 7 * i,
      cost: 1,
      waitUs: i === 0 ? 2_000 : 0,
    }));
    const [resetMs, expected] = await play(of, setUs, [...burst, ...back]);
    // 180 hits drain in 9 s; a hundredth of a hit a refund may stay.
    expect(Math.abs(resetMs - expected)).toBeLessThanOrEqual(0.01 * 420 * (1_000 / LIMIT));
    const base = { refund: false, pick: 0, cost: 15, waitUs: 0 };
    const late = [base, { ...base, cost: 4 }, { refund: true, pick: 1, cost: 0, waitUs: 200_000 }];
    const [left, without] = await play(of, setUs, late);
    expect([left, without]).toEqual([550, 550]);
  });
});
