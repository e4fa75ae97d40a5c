import { BlockCache } from '../src/limiter/block-cache';
import { Breaker } from '../src/limiter/breaker';
import { sleep } from '../../../test/support/wait';
import { openBench, ruleOf, standalone, type Bench } from './support';

const minute = { windowMs: 60_000 };

describe('refusals that are remembered', () => {
  let now = 1_000;
  const rule = ruleOf({ name: 'r', limit: 5, ...minute });
  const check = { rule, subject: 's', limit: 5, cost: 2 };
  const verdict = { verdict: 1, used: 5, resetMs: 900, retryMs: 900, nextMs: 900, atUs: 1 };
  beforeEach(() => {
    now = 1_000;
  });

  it('hold until the retry time, for the same cost or more and the same limit or less', () => {
    const cache = new BlockCache(10, 60_000, () => now);
    cache.remember(check, verdict, now);
    now += 300;
    expect(cache.find(check)).toEqual({ ...verdict, resetMs: 600, retryMs: 600, nextMs: 600 });
    expect(cache.find({ ...check, cost: 3 })).toEqual({ ...verdict, resetMs: 600, retryMs: 600, nextMs: 600 });
    expect(cache.find({ ...check, limit: 4 })).toEqual({ ...verdict, resetMs: 600, retryMs: 600, nextMs: 600 });
    expect(cache.find({ ...check, cost: 1 })).toBeUndefined();
    expect(cache.find({ ...check, limit: 6 })).toBeUndefined();
    expect(cache.find({ ...check, subject: 't' })).toBeUndefined();
    expect(cache.find({ ...check, rule: ruleOf({ name: 'q', limit: 5, ...minute }) })).toBeUndefined();
    now = 1_900;
    expect(cache.find(check)).toBeUndefined();
    expect(cache.size).toBe(0);
  });

  it('count from when Redis was asked, and hold no longer than they may be trusted', () => {
    const cache = new BlockCache(10, 250, () => now);
    cache.remember(check, verdict, now - 200);
    expect(cache.find(check)?.retryMs).toBe(700);
    now += 50;
    expect(cache.find(check)).toBeUndefined();
    cache.remember(check, verdict, now - 300);
    expect(cache.size).toBe(0);
  });

  it('are bounded: the oldest goes first', () => {
    const cache = new BlockCache(100, 60_000, () => now);
    for (let i = 0; i < 1_000; i++) cache.remember({ ...check, subject: `s${i}` }, verdict, now);
    expect(cache.size).toBe(100);
    expect(cache.find({ ...check, subject: 's899' })).toBeUndefined();
    expect(cache.find({ ...check, subject: 's900' })).toEqual(verdict);
  });
});

describe('the service and its memory of refusals', () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench(standalone(), { blockCache: { maxMs: 2_500 } });
  });
  afterEach(() => bench.close());

  it('asks Redis nothing while a refusal holds, and lets the subject in at its end', async () => {
    const rule = { name: 'held', limit: 1, windowMs: 2_000 };
    await bench.service.consume(rule, 's');
    const refused = await bench.service.consume(rule, 's');
    expect(refused).toMatchObject({ allowed: false, source: 'redis' });
    const ends = performance.now() + refused.retryAfterMs;
    // Nobody but Redis could tell that the counter is gone.
    await bench.client.del(`${bench.prefix}:rate-limit:{0}:fixed-window:held:2000:s`);
    expect(await bench.service.consume(rule, 's')).toMatchObject({ allowed: false, source: 'cache' });
    await sleep(Math.max(0, ends - performance.now()) + 2);
    expect(await bench.service.consume(rule, 's')).toMatchObject({ allowed: true, source: 'redis' });
  });

  it('a reset or a refund here clears it at once, one elsewhere within the bound', async () => {
    const other = await openBench(standalone());
    try {
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
      await sleep(2_510);
      expect(await bench.service.consume(rule, 's')).toMatchObject({ allowed: true, source: 'redis' });
    } finally {
      other.close();
    }
  });

  it('one of several rules is enough', async () => {
    const [small, large] = [
      { name: 'small', limit: 1, ...minute },
      { name: 'large', limit: 9, ...minute },
    ];
    const both = [large, small].map((rule) => ({ rule, subject: 's' }));
    await bench.service.consumeAll(both);
    await bench.service.consumeAll(both);
    expect(await bench.service.consumeAll(both)).toMatchObject({ source: 'cache', rules: [{ name: 'small' }] });
    expect(await bench.service.peek(large, 's')).toMatchObject({ rules: [{ used: 1 }] });
  });
});

describe('the breaker', () => {
  it('opens after failures in a row, lets one call try, and closes when that is answered', () => {
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
    // An answer to a call of before says nothing of now.
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
});
