import { type Cluster } from 'ioredis';
import { InvalidInputError } from 'luanest/script-registry';
import { type RateLimitRule } from 'luanest/rate-limit';
import { eventually, sleep } from '../../../test/support/wait';
import { evenTags, InvalidOptionError } from '../../internal/src';
import calculateSlot from 'cluster-key-slot';
import { inTime, keysUnder, openBench, servers, type Bench } from './support';

const minute = { windowMs: 60_000 };
const ALGORITHMS = ['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket'] as const;

describe.each(servers)('the service on %s', (_name, connect) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(connect(), { rules: [{ name: 'known', limit: 2, ...minute }] }, { cachedRefusals: 0 });
  });
  afterAll(() => bench.close());

  describe.each(ALGORITHMS)('%s', (algorithm) => {
    const rule = (name: string, more: Partial<RateLimitRule> = {}): RateLimitRule & { name: string } => ({
      name: `${algorithm}-${name}`,
      ...{ algorithm, limit: 3, windowMs: 60_000 },
      ...more,
    });

    it('allows exactly the limit, and returns what is left', async () => {
      const three = rule('count');
      const left: number[] = [];
      for (let i = 0; i < 3; i++) {
        const decision = await bench.service.consume(three, 'a');
        expect(decision).toMatchObject({ allowed: true, source: 'redis', retryAfterMs: 0, reason: undefined });
        left.push(decision.rules[0]?.remaining ?? -1);
      }
      expect(left).toEqual([2, 1, 0]);
      const refused = await bench.service.consume(three, 'a');
      expect(refused).toMatchObject({ allowed: false, reason: 'over-limit', rules: [{ used: 3, remaining: 0 }] });
      expect(refused.retryAfterMs).toBeGreaterThan(0);
      expect(refused.retryAfterMs).toBeLessThanOrEqual(120_000);
      expect(await bench.service.consume(three, 'b')).toMatchObject({ allowed: true });
    });

    it('allows exactly the limit of concurrent calls', async () => {
      // So long that a token-bucket gets no token back meanwhile.
      const ten = rule('crowd', { limit: 10, windowMs: 3_600_000 });
      const decisions = await Promise.all(Array.from({ length: 300 }, () => bench.service.consume(ten, 'crowd')));
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10);
      expect((await bench.service.peek(ten, 'crowd')).rules[0]?.used).toBe(10);
    });

    it('charges a cost wholly or not at all, and nothing for a cost of 0', async () => {
      const ten = rule('cost', { limit: 10 });
      expect(await bench.service.consume(ten, 'a', { cost: 7 })).toMatchObject({ allowed: true, rules: [{ used: 7 }] });
      expect(await bench.service.consume(ten, 'a', { cost: 4 })).toMatchObject({
        allowed: false,
        rules: [{ used: 7 }],
      });
      expect(await bench.service.consume(ten, 'a', { cost: 0 })).toMatchObject({ allowed: true, rules: [{ used: 7 }] });
      expect(await bench.service.consume(ten, 'a', { cost: 3 })).toMatchObject({
        allowed: true,
        rules: [{ used: 10 }],
      });
      expect(await bench.service.consume(ten, 'a', { cost: 11 })).toMatchObject({ allowed: false });
      expect(await bench.service.consume(ten, 'never', { cost: 0 })).toMatchObject({ allowed: true });
      expect((await keysUnder(bench)).filter((key) => key.includes('never'))).toEqual([]);
    });

    it('peeks without charging, refunds once, resets', async () => {
      const two = rule('refund', { limit: 2 });
      expect(await bench.service.peek(two, 'a')).toMatchObject({ allowed: true, rules: [{ used: 0 }] });
      const first = await bench.service.consume(two, 'a');
      await bench.service.consume(two, 'a');
      expect(await bench.service.peek(two, 'a')).toMatchObject({ allowed: false, rules: [{ used: 2 }] });
      expect(await bench.service.refund(first)).toBe(1);
      expect(await bench.service.refund(first)).toBe(0);
      expect(await bench.service.consume(two, 'a')).toMatchObject({ allowed: true });
      expect(await bench.service.reset(two, 'a')).toBe(true);
      expect(await bench.service.reset(two, 'a')).toBe(false);
      expect(await bench.service.peek(two, 'a')).toMatchObject({ allowed: true, rules: [{ used: 0 }] });
    });

    it('refunds nothing in a later window', async () => {
      const short = rule('late', { limit: 1, windowMs: 300 });
      const charged = async (n: number) => {
        const old = await bench.service.consume(short, `a${n}`);
        await sleep(650);
        return old;
      };
      await inTime(
        250,
        async (n, old: Awaited<ReturnType<typeof charged>>) => {
          expect(await bench.service.consume(short, `a${n}`)).toMatchObject({ allowed: true });
          expect(await bench.service.refund(old)).toBe(0);
          expect(await bench.service.peek(short, `a${n}`)).toMatchObject({ allowed: false });
        },
        charged,
      );
    });

    it('blocks on request, and starts a new window after the block', async () => {
      const ten = rule('block', { limit: 10 });
      const [subject, retryAfterMs] = await inTime(150, async (n) => {
        await bench.service.consume(ten, `a${n}`, { cost: 9 });
        await bench.service.block(ten, `a${n}`, 150);
        const refused = await bench.service.consume(ten, `a${n}`);
        expect(refused).toMatchObject({ allowed: false, reason: 'blocked', rules: [{ blocked: true, remaining: 0 }] });
        return [`a${n}`, refused.retryAfterMs] as const;
      });
      expect(retryAfterMs).toBeLessThanOrEqual(150);
      await sleep(retryAfterMs + 5);
      expect(await bench.service.consume(ten, subject)).toMatchObject({ allowed: true, rules: [{ used: 1 }] });
      await bench.service.block(ten, 'b', 60_000);
      await bench.service.reset(ten, 'b');
      expect(await bench.service.consume(ten, 'b')).toMatchObject({ allowed: true });
    });

    it('a penalty blocks after a refusal, is not extended by polling, and escalates', async () => {
      // Strikes are forgotten `maxBlockMs` after a block, so that is long compared with the pauses of a busy machine.
      const one = rule('penalty', { limit: 1, windowMs: 40, blockMs: 100, maxBlockMs: 10_000 });
      const blocks: number[] = [];
      for (let strike = 0; strike < 3; strike++) {
        let refused = await bench.service.consume(one, 'a');
        while (refused.allowed) refused = await bench.service.consume(one, 'a');
        blocks.push(refused.rules[0]?.retryAfterMs ?? 0);
        let last = refused.retryAfterMs;
        for (;;) {
          const polled = await bench.service.consume(one, 'a');
          if (polled.allowed) break;
          if (polled.reason !== 'blocked') continue;
          expect(polled.retryAfterMs).toBeLessThanOrEqual(last);
          last = polled.retryAfterMs;
        }
      }
      expect(blocks).toEqual([100, 200, 400]);
    });

    it('a penalty does not last longer than maxBlockMs', async () => {
      const one = rule('longest', { limit: 1, windowMs: 60, blockMs: 2_000, maxBlockMs: 3_000 });
      const block = async () => {
        let refused = await bench.service.consume(one, 'a');
        while (refused.allowed || refused.reason !== 'blocked') refused = await bench.service.consume(one, 'a');
        return refused.rules[0]?.retryAfterMs ?? 0;
      };
      expect(await block()).toBeLessThanOrEqual(2_000);
      await sleep(2_010);
      const second = await block();
      expect(second).toBeGreaterThan(2_000);
      expect(second).toBeLessThanOrEqual(3_000);
    });
  });

  it.each(ALGORITHMS)('rules of one name with two windows do not affect each other: %s', async (algorithm) => {
    const long = { name: `ends-${algorithm}`, algorithm, limit: 2, windowMs: 3_600_000 };
    const short = { ...long, limit: 1, windowMs: 300 };
    for (let i = 0; i < 3; i++) await bench.service.consume(long, 'a');
    for (let i = 0; i < 2; i++) await bench.service.consume(short, 'a');
    await sleep(650);
    expect(await bench.service.consume(short, 'a')).toMatchObject({ allowed: true });
    const refused = await bench.service.consume(long, 'a');
    expect(refused).toMatchObject({ allowed: false, rules: [{ used: 2 }] });
    expect(refused.retryAfterMs).toBeGreaterThan(60_000);
  });

  it('three rules are all charged, or none', async () => {
    const rules = [
      { name: 'all-a', limit: 10, ...minute },
      { name: 'all-b', limit: 10, ...minute, algorithm: 'token-bucket' as const },
      { name: 'all-c', limit: 1, ...minute, algorithm: 'sliding-log' as const },
    ];
    const checks = rules.map((rule) => ({ rule, subject: 'one' }));
    expect(await bench.service.consume(checks)).toMatchObject({ allowed: true });
    const refused = await bench.service.consume(checks);
    expect(refused).toMatchObject({
      allowed: false,
      rules: [{ allowed: true }, { allowed: true }, { allowed: false }],
    });
    const after = await bench.service.peek(checks.slice(0, 2));
    expect(after.rules.map(({ used }) => used)).toEqual([1, 1]);
  });

  it('subjects in several slots: charged hits are refunded if another rule refuses', async () => {
    const rules = ['address', 'tenant', 'user'].map((name) => ({ name: `mixed-${name}`, limit: 5, ...minute }));
    for (let i = 0; i < 20; i++) {
      const checks = rules.map((rule, n) => ({ rule, subject: `${n}-${i}`, limit: n === 2 ? 1 : 5 }));
      expect(await bench.service.consume(checks)).toMatchObject({ allowed: true });
      const refused = await bench.service.consume(checks);
      expect(refused).toMatchObject({ allowed: false });
      expect(refused.rules.map(({ used }) => used)).toEqual([1, 1, 1]);
      // The refund is in flight; Redis runs it before later calls to the same slots.
      for (let n = 0; n < 2; n++) {
        await expect(
          bench.service.peek(rules[n] as RateLimitRule, `${n}-${i}`).then(({ rules: [rule] }) => rule?.used),
        ).resolves.toBeLessThanOrEqual(2);
      }
    }
    for (let i = 0; i < 20; i++) {
      for (const [n, rule] of rules.entries()) {
        await eventually(async () => {
          const { rules: seen } = await bench.service.peek(rule, `${n}-${i}`);
          expect(seen.map(({ used }) => used)).toEqual([1]);
        });
      }
    }
  });

  it('a shadow rule counts and reports, but never refuses', async () => {
    const shadow = { name: 'shadow', limit: 1, ...minute, shadow: true };
    const real = { name: 'real', limit: 3, ...minute };
    const run = () => bench.service.consume([shadow, real].map((rule) => ({ rule, subject: 's' })));
    expect(await run()).toMatchObject({ allowed: true, rules: [{ allowed: true }, { allowed: true }] });
    expect(await run()).toMatchObject({ allowed: true, rules: [{ allowed: false, shadow: true }, { used: 2 }] });
    await run();
    expect(await run()).toMatchObject({ allowed: false });
  });

  it('hostile subjects are counted separately, each under one hash tag', async () => {
    const rule = { name: 'hostile', limit: 1, ...minute };
    const long = 'x'.repeat(5_000);
    const hostile = [
      '{',
      '}',
      '{}',
      '{a}',
      'a}b{',
      'a:b',
      'a%3Ab',
      '*',
      ' ',
      '\0',
      '\ud800',
      '\udbff',
      '🧧',
      long,
      `${long}y`,
    ];
    for (const subject of hostile) {
      expect(await bench.service.consume(rule, subject)).toMatchObject({ allowed: true });
      expect(await bench.service.consume(rule, subject)).toMatchObject({ allowed: false });
    }
    const keys = (await keysUnder(bench)).filter((key) => key.includes(':hostile:'));
    expect(new Set(keys).size).toBe(hostile.length);
    for (const key of keys) expect(key.match(/[{}]/g)).toEqual(['{', '}']);
  });

  it('refuses invalid input before anything is counted, with an error that has the value', async () => {
    const rule = { name: 'invalid', limit: 1, ...minute };
    for (const cost of [-1, 0.5, NaN, Infinity, 1e10, '1' as never]) {
      await expect(bench.service.consume(rule, 's', { cost })).rejects.toThrow(
        `cost is ${JSON.stringify(cost) === 'null' ? cost : JSON.stringify(cost)}`,
      );
    }
    await expect(bench.service.consume(rule, '')).rejects.toThrow(InvalidInputError);
    await expect(bench.service.consume('unknown', 's')).rejects.toThrow(/named "unknown".*Its rules: known/);
    await expect(bench.service.consume({ limit: 1, ...minute }, 's')).rejects.toThrow(
      /^RateLimitService: The rule has no name/,
    );
    await expect(bench.service.consume({ ...rule, windowMs: 0.5 }, 's')).rejects.toThrow(InvalidOptionError);
    await expect(bench.service.block(rule, 's', 0)).rejects.toThrow(/blockMs is 0/);
    const twice = [rule, rule].map((each) => ({ rule: each, subject: 's' }));
    await expect(bench.service.consume(twice)).rejects.toThrow(/the same subject/);
    expect((await keysUnder(bench)).filter((key) => key.includes(':invalid:'))).toEqual([]);
    expect(await bench.service.consume('known', 's')).toMatchObject({ allowed: true });
  });

  it('keeps no key without a TTL', async () => {
    const keys = await keysUnder(bench);
    expect(keys.length).toBeGreaterThan(10);
    // Those that ended meanwhile are -2.
    for (const key of keys) expect([key, await (bench.client as Cluster).pttl(key)]).not.toEqual([key, -1]);
  });
});

it('hash tags are distributed evenly over the slots', () => {
  for (const count of [1, 2, 3, 32, 100, 1_024]) {
    const slots = evenTags(count).map((tag) => calculateSlot(tag));
    expect(new Set(slots.map((slot) => Math.floor((slot * count) / 16_384))).size).toBe(count);
  }
});
