import fc from 'fast-check';
import type { RedisLimiter } from '../src/limiter/redis-limiter';
import { MemoryLimiter } from '../src/limiter/memory-limiter';
import type { Budget, Check, Verdict } from '../src/limiter/decision';
import type { NamedRule } from '../src/rules/rule';
import { ruleOf, seeded, standalone, TestClock } from './support';
import { size } from '../../../test/support/size';

const DEADLINE_MS = 10_000;
const budget = (): Budget => ({ calledAtMs: clock.nowMs, startedAtMs: clock.nowMs, deadlineMs: DEADLINE_MS });
const ALGORITHMS = ['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket'] as const;
type AlgorithmName = (typeof ALGORITHMS)[number];

let clock: TestClock;
let limiter: RedisLimiter;
let done: { close(): void };

beforeAll(async () => {
  const opened = await TestClock.open(standalone());
  ({ clock, limiter } = opened);
  done = opened;
});
afterAll(() => done.close());

let startUs: number;
beforeAll(() => {
  startUs = clock.nowUs;
});

let serial = 0;

/** Returns verdicts without `at`: some scripts read no clock. */
const withoutTimes = (verdicts: readonly Verdict[]) => verdicts.map((verdict) => ({ ...verdict, at: 0 }));

const anyRule = fc
  .record({
    algorithm: fc.constantFrom(...ALGORITHMS),
    windowMs: fc.constantFrom(1, 7, 1_000, 60_000, 2_592_000_000),
    limit: fc.integer({ min: 0, max: 8 }),
    burst: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
    blockMs: fc.constantFrom(0, 0, 5, 90_000),
    escalates: fc.boolean(),
    shadow: fc.constantFrom(false, false, true),
    fresh: fc.boolean(),
  })
  .map(({ algorithm, windowMs, limit, burst, blockMs, escalates, shadow, fresh }): NamedRule => ({
    ...ruleOf({
      name: `r${serial++}`,
      ...{ algorithm, windowMs, limit, blockMs, shadow },
      ...(algorithm === 'token-bucket' ? { burst } : {}),
      ...(blockMs > 0 && escalates ? { maxBlockMs: blockMs * 6 } : {}),
    }),
    freshAfterBlock: fresh && !shadow,
  }));

/** Rules that the short scripts decide. */
const plainRule = fc
  .record({ windowMs: fc.constantFrom(1, 1_000, 60_000), limit: fc.integer({ min: 1, max: 8 }) })
  .map((figures) => ruleOf({ name: `r${serial++}`, ...figures }));

/** One thing that is done, after some time has passed. */
const anyStep = fc.record({
  kind: fc.constantFrom('consume', 'consume', 'consume', 'consume', 'peek', 'refund', 'reset', 'block'),
  mask: fc.integer({ min: 1, max: 7 }),
  costs: fc.array(fc.constantFrom(0, 1, 1, 1, 2, 3, 9), { minLength: 3, maxLength: 3 }),
  limits: fc.array(fc.constantFrom(undefined, undefined, undefined, 3, 20), { minLength: 3, maxLength: 3 }),
  waitUs: fc.oneof(
    fc.constantFrom(0, 0, 0, 1, 999, 1_000, 1_001),
    fc.integer({ min: 0, max: 3_000_000 }),
    fc.constantFrom(6_999, 7_000, 999_999, 59_999_999, 60_000_000, 1_296_000_000_000, 2_592_000_000_000),
  ),
});

it('the scripts and the model decide the same, for any sequence of calls', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(anyRule, plainRule), { minLength: 1, maxLength: 3 }),
      fc.array(anyStep, { minLength: 1, maxLength: 40 }),
      async (rules, steps) => {
        const subject = `s${serial++}`;
        await clock.set(startUs);
        const model = new MemoryLimiter(() => clock.nowUs, 1_000);
        const charged: { byScripts: Verdict; byModel: Verdict }[] = [];
        for (const { kind, mask, costs, limits, waitUs } of steps) {
          await clock.set(clock.nowUs + waitUs);
          const checks = rules.flatMap((rule, i): Check[] => {
            if ((mask & (1 << i)) === 0) return [];
            const limit = limits[i] ?? (rule.limit as number);
            return [{ rule, subject, limit, cost: costs[i] ?? 1 }];
          });
          const [first] = checks;
          if (first === undefined) continue;
          if (kind === 'refund') {
            const hits = charged.splice(0, mask);
            const byScripts = hits.map((both) => both.byScripts);
            const byModel = hits.map((both) => both.byModel);
            expect(await limiter.refund(byScripts, DEADLINE_MS)).toEqual(await model.refund(byModel));
          } else if (kind === 'reset') {
            await limiter.reset(first.rule, subject, DEADLINE_MS);
            await model.reset(first.rule, subject);
          } else if (kind === 'block') {
            await limiter.block(first.rule, subject, 5_000, DEADLINE_MS);
            await model.block(first.rule, subject, 5_000);
          } else {
            const charge = kind === 'consume';
            const verdicts = await limiter.consume(checks, charge, budget());
            const expected = model.decide(checks, charge);
            expect(withoutTimes(verdicts)).toEqual(withoutTimes(expected));
            const refused = verdicts.some(({ verdict, check }) => verdict > 0 && !check.rule.shadow);
            verdicts.forEach((verdict, i) => {
              const { rule, cost } = verdict.check;
              if (!charge || refused || verdict.verdict !== 0 || cost === 0) return;
              // The model refunds more, because it knows the end of such a window exactly.
              if (rule.algorithm === 'fixed-window' && rule.windowMs < 5) return;
              charged.push({ byScripts: verdict, byModel: expected[i] as Verdict });
            });
          }
        }
      },
    ),
    { numRuns: size(10, 400) },
  );
}, 120_000);

/** An allowed hit. */
interface Hit {
  readonly us: number;
  readonly cost: number;
}

/** Maximum number of hits in any span of a window's length. */
function mostInAnyWindow(hits: readonly Hit[], windowMs: number): number {
  let [most, sum, from] = [0, 0, 0];
  for (const { us, cost } of hits) {
    sum += cost;
    while ((hits[from] as Hit).us <= us - windowMs * 1_000) {
      sum -= (hits[from] as Hit).cost;
      from += 1;
    }
    most = Math.max(most, sum);
  }
  return most;
}

/** Traffic that saves its hits for the moments when they hurt most: just before and after an end of a window. */
async function attack(rule: NamedRule, seed: number, calls: number): Promise<number> {
  const random = seeded(seed);
  const hits: Hit[] = [];
  const limit = rule.limit as number;
  for (let call = 0; call < calls; call++) {
    const cost = random() < 0.8 ? 1 : 1 + Math.floor(random() * 3);
    const checks = [{ rule, subject: `s${seed}`, limit, cost }];
    const [decided] = await limiter.consume(checks, true, budget());
    const { verdict, resetMs, retryMs } = decided ?? { verdict: 1, resetMs: 0, retryMs: 0 };
    if (verdict === 0) hits.push({ us: clock.nowUs, cost });
    const waits = [
      0,
      Math.floor(random() * 2_000),
      Math.max(0, retryMs * 1_000 - (clock.nowUs % 1_000) + Math.floor(random() * 3) - 1),
      Math.max(0, resetMs * 1_000 - Math.floor(random() * 2_000)),
      Math.floor(random() * rule.windowMs * 1_000),
    ];
    await clock.set(clock.nowUs + (waits[Math.floor(random() * random() * waits.length)] ?? 0));
  }
  return mostInAnyWindow(hits, rule.windowMs);
}

describe('bounds over every rolling window of hostile traffic', () => {
  const limit = 10;
  const bounds: Record<AlgorithmName, number> = {
    'fixed-window': 2 * limit,
    'sliding-window': 2 * limit,
    'sliding-log': limit,
    'token-bucket': 4 + limit,
  };

  it.each(ALGORITHMS)(
    '%s',
    async (algorithm) => {
      let most = 0;
      for (let seed = 1; seed <= 4; seed++) {
        const rule = ruleOf({
          ...{ name: `bound-${algorithm}-${seed}`, algorithm, limit, windowMs: [100, 1_000, 7][seed % 3] ?? 1_000 },
          ...(algorithm === 'token-bucket' ? { burst: 4 } : {}),
        });
        most = Math.max(most, await attack(rule, seed * 7_919, size(120, 600)));
      }
      expect(most).toBeLessThanOrEqual(bounds[algorithm]);
      // An adversary that never reached the limit would prove nothing.
      expect(most).toBeGreaterThanOrEqual(algorithm === 'token-bucket' ? limit : limit);
    },
    60_000,
  );
});
