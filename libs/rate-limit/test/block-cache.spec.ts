import { InvalidInputError } from 'luanest/script-registry';
import { BlockCache, Breaker, ResilientLimiter } from '../src/limiter/resilient-limiter';
import { sleep } from '../../../test/support/wait';
import { openBench, ruleOf, standalone, type Bench } from './support';

const minute = { windowMs: 60_000 };

describe('cached refusals', () => {
  let now = 1_000;
  const rule = ruleOf({ name: 'r', limit: 5, ...minute });
  const check = { rule, subject: 's', limit: 5, cost: 2 };
  const verdict = { check, verdict: 1, used: 5, resetMs: 900, retryMs: 900, nextMs: 900, at: 0 };
  beforeEach(() => {
    now = 1_000;
  });

  it('are used until the retry time, for the same or a higher cost and the same or a lower limit', () => {
    const cache = new BlockCache(10, 60_000, () => now);
    cache.add(verdict, now);
    now += 300;
    for (const other of [check, { ...check, cost: 3 }, { ...check, limit: 4 }]) {
      expect(cache.find(other)).toEqual({ ...verdict, check: other, resetMs: 600, retryMs: 600, nextMs: 600 });
    }
    expect(cache.find({ ...check, cost: 1 })).toBeUndefined();
    expect(cache.find({ ...check, limit: 6 })).toBeUndefined();
    expect(cache.find({ ...check, subject: 't' })).toBeUndefined();
    expect(cache.find({ ...check, rule: ruleOf({ name: 'q', limit: 5, ...minute }) })).toBeUndefined();
    now = 1_900;
    expect(cache.find(check)).toBeUndefined();
    expect(cache.size).toBe(0);
  });

  it('start with the call to Redis, and are used for at most maxMs', () => {
    const cache = new BlockCache(10, 250, () => now);
    cache.add(verdict, now - 200);
    expect(cache.find(check)?.retryMs).toBe(700);
    now += 50;
    expect(cache.find(check)).toBeUndefined();
    cache.add(verdict, now - 300);
    expect(cache.size).toBe(0);
  });

  it('are bounded: the oldest is evicted first', () => {
    const cache = new BlockCache(100, 60_000, () => now);
    for (let i = 0; i < 1_000; i++) cache.add({ ...verdict, check: { ...check, subject: `s${i}` } }, now);
    expect(cache.size).toBe(100);
    expect(cache.find({ ...check, subject: 's899' })).toBeUndefined();
    expect(cache.find({ ...check, subject: 's900' })).toMatchObject({ verdict: 1, retryMs: 900 });
  });

  it('are evicted by the time of their last refusal, not of their first', () => {
    const cache = new BlockCache(2, 60_000, () => now);
    for (const subject of ['a', 'b', 'a', 'c']) cache.add({ ...verdict, check: { ...check, subject } }, now);
    expect(['a', 'b', 'c'].map((subject) => cache.find({ ...check, subject }) !== undefined)).toEqual([
      true,
      false,
      true,
    ]);
  });
});

describe('a service with cached refusals', () => {
  let bench: Bench;
  let skippedMs = 0;
  beforeEach(async () => {
    skippedMs = 0;
    const clocks = { monotonicMs: () => performance.now() + skippedMs, wallUs: () => Date.now() * 1_000 };
    bench = await openBench(standalone(), {}, { clocks });
  });
  afterEach(() => bench.close());

  it('does not call Redis while a refusal is cached, and allows the subject after its retry time', async () => {
    const rule = { name: 'held', limit: 1, windowMs: 2_000 };
    await bench.service.consume(rule, 's');
    const refused = await bench.service.consume(rule, 's');
    expect(refused).toMatchObject({ allowed: false, source: 'redis' });
    const ends = performance.now() + refused.retryAfterMs;
    // Only a call to Redis could notice that the counter is gone.
    await bench.client.del(`${bench.prefix}:rate-limit:{0}:fixed-window:held:2000:s`);
    expect(await bench.service.consume(rule, 's')).toMatchObject({ allowed: false, source: 'cache' });
    await sleep(Math.max(0, ends - performance.now()) + 2);
    expect(await bench.service.consume(rule, 's')).toMatchObject({ allowed: true, source: 'redis' });
  });

  it('drops a refusal at a reset or refund of its own, and 5 s later at the latest', async () => {
    const rule = { name: 'cleared', limit: 1, ...minute };
    const first = await bench.service.consume(rule, 's');
    expect(await bench.service.consume(rule, 's')).toMatchObject({ allowed: false });
    await bench.service.reset(rule, 's');
    const second = await bench.service.consume(rule, 's');
    expect(second).toMatchObject({ allowed: true });
    expect(await bench.service.refund(first)).toBe(0);
    expect(await bench.service.consume(rule, 's')).toMatchObject({ allowed: false });
    expect(await bench.service.refund(second)).toBe(1);
    expect(await bench.service.consume(rule, 's')).toMatchObject({ allowed: true });
    expect(await bench.service.consume(rule, 's')).toMatchObject({ allowed: false, source: 'redis' });
    await bench.client.del(`${bench.prefix}:rate-limit:{0}:fixed-window:cleared:60000:s`);
    expect(await bench.service.consume(rule, 's')).toMatchObject({ allowed: false, source: 'cache' });
    skippedMs += 4_000;
    expect(await bench.service.consume(rule, 's')).toMatchObject({ allowed: false, source: 'cache' });
    skippedMs += 1_001;
    expect(await bench.service.consume(rule, 's')).toMatchObject({ allowed: true, source: 'redis' });
  });

  it('drops a refusal that another request cached while the refund ran', async () => {
    const rule = { name: 'refunded', limit: 1, ...minute };
    const decision = await bench.service.consume(rule, 'fay');
    const [refunded, between] = await Promise.all([bench.service.refund(decision), bench.service.consume(rule, 'fay')]);
    expect([refunded, between.allowed]).toEqual([1, false]);
    expect(await bench.service.consume(rule, 'fay')).toMatchObject({ allowed: true, source: 'redis' });
  });

  it('refuses if the refusal of one of several rules is cached', async () => {
    const [small, large] = [
      { name: 'small', limit: 1, ...minute },
      { name: 'large', limit: 9, ...minute },
    ];
    const both = [large, small].map((rule) => ({ rule, subject: 's' }));
    await bench.service.consume(both);
    await bench.service.consume(both);
    expect(await bench.service.consume(both)).toMatchObject({ source: 'cache', rules: [{ name: 'small' }] });
    expect(await bench.service.peek(large, 's')).toMatchObject({ rules: [{ used: 1 }] });
  });
});

describe('the breaker', () => {
  it('opens after consecutive failures, lets one call through, and closes when it succeeds', () => {
    let now = 0;
    const changes: string[] = [];
    const breaker = new Breaker(
      3,
      100,
      () => now,
      (state) => changes.push(state),
    );
    breaker.failed();
    breaker.failed();
    breaker.succeeded();
    for (let i = 0; i < 3; i++) {
      expect(breaker.enter()).toBe(true);
      breaker.failed();
    }
    expect(changes).toEqual(['opened']);
    expect(breaker.enter()).toBe(false);
    // A late reply to an earlier call does not close it.
    breaker.succeeded();
    expect(breaker.enter()).toBe(false);
    now = 100;
    expect([breaker.enter(), breaker.enter()]).toEqual([true, false]);
    breaker.failed();
    expect(breaker.enter()).toBe(false);
    now = 200;
    expect(breaker.enter()).toBe(true);
    breaker.succeeded();
    expect(changes).toEqual(['opened', 'closed']);
    expect(breaker.enter()).toBe(true);
  });

  it('stays open after a test call that did not reach Redis, and lets the next call through', async () => {
    let now = 0;
    const clocks = { monotonicMs: () => now, wallUs: () => 0 };
    const consume = jest.fn().mockRejectedValue(new Error('Redis is down'));
    const options = { onRedisError: 'allow', deadlineMs: 50 } as const;
    const limiter = new ResilientLimiter({ consume } as never, options, { clocks, failures: 2, openMs: 100 });
    const decide = () =>
      limiter.decide([{ rule: ruleOf({ name: 'r', limit: 5, ...minute }), subject: 's', limit: 5, cost: 1 }], true);
    await decide();
    await decide();
    now = 100;
    const invalid = new InvalidInputError('refused before it was sent', { code: 'INVALID_CALL' });
    consume.mockRejectedValueOnce(invalid);
    await expect(decide()).rejects.toBe(invalid);
    await decide();
    await decide();
    expect(consume).toHaveBeenCalledTimes(4);
  });
});
