import type { ExecutionContext } from '@nestjs/common';
import { ThrottlerStorageService, type ThrottlerStorage } from '@nestjs/throttler';
import { Cluster } from 'ioredis';
import { RateLimitThrottlerStorage, RateLimitThrottlerStorageModule } from 'luanest/rate-limit/throttler-storage';
import { InvalidInputError } from 'luanest/script-registry';
import { InvalidOptionError } from '../../internal/src';
import { Pulse } from '../../../test/support/pulse';
import { sharedRedisUrl } from '../../../test/support/shared-servers';
import { size } from '../../../test/support/size';
import { few } from '../../../test/support/few';
import { eventually, sleep } from '../../../test/support/wait';
import { resolveStorageOptions } from '../src/throttler-storage/throttler-storage.options';
import type { RateLimitAlgorithm } from '../src/rules/rule';
import { inTime, keysUnder, openBench, servers, standalone, type Bench } from './support';
import { platforms, ThrottlerBench } from './throttler-bench';

type Hit = (key: string) => ReturnType<ThrottlerStorage['increment']>;

/** Redis decides every refusal, unless a test is about cached ones. */
const UNCACHED = { cachedRefusals: 0 };

/** Lifetimes of all keys under a prefix, ms. */
async function lifetimes(bench: Pick<Bench, 'client' | 'prefix'>): Promise<number[]> {
  return Promise.all((await keysUnder(bench)).map((key) => bench.client.pttl(key)));
}

/** Hits a key until it passes again. */
async function untilItPasses(hit: () => ReturnType<Hit>): ReturnType<Hit> {
  return eventually(
    async () => {
      const record = await hit();
      expect(record.isBlocked).toBe(false);
      return record;
    },
    { everyMs: 25 },
  );
}

/** How long a client polls. */
const SECONDS = size(2, 6);

/** Polls every 50 ms, on a schedule that slow responses do not shift. Returns the number of allowed polls. */
async function poll(admitted: () => Promise<boolean>): Promise<number> {
  const start = performance.now();
  const polls: Promise<boolean>[] = [];
  for (let i = 0; i < 20 * SECONDS; i++) {
    polls.push(admitted());
    await sleep(Math.max(0, start + 50 * (i + 1) - performance.now()));
  }
  return (await Promise.all(polls)).filter(Boolean).length;
}

/** Tries again, a few times, what failed while the machine stood still. */
async function whileNothingStalls(work: (n: number) => Promise<void>): Promise<void> {
  for (let n = 0; ; n++) {
    const pulse = new Pulse(sharedRedisUrl());
    try {
      return await work(n);
    } catch (error) {
      await sleep(1_000);
      if (pulse.stalls.length === 0 || n === 4) throw error;
    } finally {
      await pulse.stop();
    }
  }
}

describe.each(few(servers))('the storage on %s', (_name, connect) => {
  let bench: Bench;
  let storage: RateLimitThrottlerStorage;
  beforeEach(async () => {
    bench = await openBench(connect(), {}, UNCACHED);
    storage = new RateLimitThrottlerStorage(bench.resilient, 'fixed-window');
  });
  afterEach(() => bench.close());

  const hitter =
    (ttl: number, limit: number, blockDuration: number, throttler = 'default'): Hit =>
    (key) =>
      storage.increment(key, ttl, limit, blockDuration, throttler);

  it('counts to the limit, then blocks, and returns the time in seconds', async () => {
    const hit = hitter(60_000, 2, 30_000);
    const passed = { timeToExpire: 60, isBlocked: false, timeToBlockExpire: 0 };
    const blocked = { totalHits: 3, timeToExpire: 30, isBlocked: true, timeToBlockExpire: 30 };
    await inTime(900, async (n) => {
      for (const seen of [{ totalHits: 1, ...passed }, { totalHits: 2, ...passed }, blocked, blocked]) {
        expect(await hit(`a${n}`)).toEqual(seen);
      }
    });
    expect(await hit('b')).toMatchObject({ totalHits: 1, isBlocked: false });
    expect(await storage.increment('a0', 60_000, 2, 30_000, 'other')).toMatchObject({ totalHits: 1, isBlocked: false });
  });

  it('a hit with another ttl does not end the window of the key', async () => {
    for (let i = 0; i < 3; i++) await storage.increment('same', 60_000, 2, 0, 'default');
    expect(await storage.increment('same', 300, 1, 0, 'default')).toMatchObject({ totalHits: 1, isBlocked: false });
    await sleep(350);
    const record = await storage.increment('same', 60_000, 2, 0, 'default');
    expect(record.isBlocked).toBe(true);
    expect(record.timeToExpire).toBeGreaterThan(50);
  });

  it('returns the same as the storage of throttler, hit by hit', async () => {
    const theirs = new ThrottlerStorageService();
    for (const [limit, blockDuration] of [
      [3, 60_000],
      [3, 10_000],
      [1, 60_000],
    ] as const) {
      // Times are whole seconds, and each storage has its own clock.
      await inTime(900, async (n) => {
        for (let i = 0; i < 6; i++) {
          const key = `same-${limit}-${blockDuration}-${n}`;
          const [mine, other] = await Promise.all([
            storage.increment(key, 60_000, limit, blockDuration, 'default'),
            theirs.increment(key, 60_000, limit, blockDuration, 'default'),
          ]);
          expect(mine).toMatchObject({ totalHits: other.totalHits, isBlocked: other.isBlocked });
          if (other.isBlocked) expect(mine.timeToBlockExpire).toBe(other.timeToBlockExpire);
        }
      });
    }
    theirs.onApplicationShutdown();
  });

  it.each([
    ['shorter', 20_000, 400],
    ['longer', 500, 1_200],
  ])('begins a fresh window after a block that is %s than the window', async (_which, ttl, blockDuration) => {
    const hit = hitter(ttl, 2, blockDuration);
    const [key, asked] = await inTime(Math.min(ttl, 900), async (n) => {
      // Both are in the window, or the next ones would not be the overflow.
      await Promise.all([hit(`a${n}`), hit(`a${n}`)]);
      const before = performance.now();
      expect(await hit(`a${n}`)).toMatchObject({ totalHits: 3, isBlocked: true });
      return [`a${n}`, before] as const;
    });
    const fresh = await untilItPasses(() => hit(key));
    // Redis counts whole ms, so a block may look one shorter.
    expect(performance.now() - asked).toBeGreaterThanOrEqual(blockDuration - 2);
    expect(fresh).toEqual({
      ...{ totalHits: 1, isBlocked: false, timeToBlockExpire: 0 },
      timeToExpire: Math.ceil(ttl / 1_000),
    });
    // A whole window of hits again: limit - 1 remain.
    if (ttl > 10_000) expect([(await hit(key)).isBlocked, (await hit(key)).isBlocked]).toEqual([false, true]);
  });

  it('does not count hits of a blocked key, and does not extend the block', async () => {
    const hit = hitter(60_000, 2, 30_000);
    for (let i = 0; i < 3; i++) await hit('a');
    const held = async (): Promise<unknown> => {
      const keys = (await keysUnder(bench)).sort();
      return Promise.all(
        keys.map(async (key) => [key, await bench.client.get(key), await bench.client.pexpiretime(key)]),
      );
    };
    const before = await held();
    expect(before).toHaveLength(1);
    const records = await Promise.all(Array.from({ length: 200 }, () => hit('a')));
    expect(new Set(records.map(({ totalHits }) => totalHits))).toEqual(new Set([3]));
    expect(await held()).toEqual(before);
  });

  it('gives every key a TTL, also one that lost it', async () => {
    const cases = [
      [60_000, 2, 90_000],
      [60_000, 1, 0],
    ] as const;
    for (const [n, [ttl, limit, block]] of cases.entries()) {
      for (let i = 0; i < 4; i++) {
        await storage.increment(`k${n}`, ttl, limit, block, 'default');
        for (const ms of await lifetimes(bench)) expect([ms > 0, ms <= 90_000]).toEqual([true, true]);
        for (const key of await keysUnder(bench)) await bench.client.persist(key);
        await storage.increment(`k${n}`, ttl, limit, block, 'default');
      }
      for (const key of await keysUnder(bench)) await bench.client.del(key);
    }
  });

  it('allows exactly the limit of concurrent hits', async () => {
    const records = await Promise.all(Array.from({ length: 200 }, () => hitter(60_000, 10, 60_000)('crowd')));
    expect(records.filter(({ isBlocked }) => !isBlocked)).toHaveLength(10);
  });

  it('does not block with a duration of 0: hits are allowed after the window, or when the bucket has tokens', async () => {
    const hit = hitter(1_000, 1, 0);
    const key = await inTime(900, async (n) => {
      await hit(`a${n}`);
      expect(await hit(`a${n}`)).toEqual({ totalHits: 2, timeToExpire: 1, isBlocked: true, timeToBlockExpire: 1 });
      return `a${n}`;
    });
    expect((await keysUnder(bench)).filter((name) => name.includes(':penalty:'))).toEqual([]);
    await untilItPasses(() => hit(key));

    const bucket = new RateLimitThrottlerStorage(bench.resilient, 'token-bucket');
    const take = (from: string) => bucket.increment(from, 60_000, 100, 0, 'bucket');
    // A token comes back every 600 ms, long before the window is over.
    const empty = await inTime(600, async (n) => {
      await Promise.all(Array.from({ length: 100 }, () => take(`b${n}`)));
      expect(await take(`b${n}`)).toMatchObject({ isBlocked: true, timeToBlockExpire: 1 });
      return `b${n}`;
    });
    await untilItPasses(() => take(empty));
  });

  it.each<RateLimitAlgorithm>(['sliding-window', 'sliding-log', 'token-bucket'])('counts by %s', async (algorithm) => {
    const other = new RateLimitThrottlerStorage(bench.resilient, algorithm);
    const take = () => other.increment('a', 60_000, 2, 500, 'default');
    expect([await take(), await take(), await take()].map(({ isBlocked }) => isBlocked)).toEqual([false, false, true]);
    expect(await untilItPasses(take)).toMatchObject({ totalHits: 1 });
  });

  it('accepts any name and any key, and counts them separately', async () => {
    const names = ['default', 'a b', 'a:b', '{x}', 'ü', 'x'.repeat(200)];
    const keys = ['1.2.3.4', '::1', '{tag}', 'a:b', 'k'.repeat(5_000), '\ud800'];
    for (const name of names) {
      for (const key of keys) {
        expect(await storage.increment(key, 60_000, 5, 60_000, name)).toMatchObject({ totalHits: 1 });
      }
    }
  });

  it('does not share counters with a rule of the same name', async () => {
    const rule = { name: 'default', limit: 1, windowMs: 60_000 };
    await bench.service.consume(rule, 'one');
    expect(await storage.increment('one', 60_000, 1, 60_000, 'default')).toMatchObject({ totalHits: 1 });
  });

  it('allows everything with a limit of Infinity, and nothing with 0', async () => {
    expect(await hitter(60_000, Infinity, 60_000)('a')).toMatchObject({ isBlocked: false, totalHits: 0 });
    expect(await keysUnder(bench)).toEqual([]);
    expect(await hitter(60_000, 0, 60_000)('a')).toMatchObject({ isBlocked: true, totalHits: 1 });
  });

  it('with a limit of 0, clients wait for the block, or for the ttl without one', async () => {
    for (const [ttl, blockDuration, seconds] of [
      [60_000, 5_000, 5],
      [5_000, 60_000, 60],
      [60_000, 0, 60],
    ] as const) {
      const hit = hitter(ttl, 0, blockDuration);
      await inTime(900, async (n) => {
        for (let i = 0; i < 4; i++) {
          const told = { totalHits: 1, isBlocked: true, timeToExpire: seconds, timeToBlockExpire: seconds };
          expect(await hit(`${blockDuration}-${n}`)).toEqual(told);
        }
      });
    }
  });
});

describe('invalid input', () => {
  let bench: Bench;
  let storage: RateLimitThrottlerStorage;
  beforeAll(async () => {
    bench = await openBench(standalone());
    storage = new RateLimitThrottlerStorage(bench.resilient, 'fixed-window');
  });
  afterAll(() => bench.close());

  it.each<[RegExp, [unknown, unknown, unknown, unknown, unknown]]>([
    [
      /^The ttl of throttler "default" is 0\. Expected ms, an integer from 1 to 34560000000\..*SkipThrottle/,
      ['k', 0, 1, 1, 'default'],
    ],
    [/^The ttl of throttler "default" is 0\.5\./, ['k', 0.5, 1, 1, 'default']],
    [/^The ttl of throttler "default" is 333\.3/, ['k', 1_000 / 3, 1, 1, 'default']],
    [/^The ttl of throttler "default" is -1\./, ['k', -1, 1, 1, 'default']],
    [/^The ttl of throttler "default" is NaN\./, ['k', NaN, 1, 1, 'default']],
    [/^The ttl of throttler "default" is "1000"\./, ['k', '1000', 1, 1, 'default']],
    [/^The ttl of throttler "default" is 34560000001\./, ['k', 34_560_000_001, 1, 1, 'default']],
    [
      /^The limit of throttler "default" is 2\.5\. Expected an integer from 0 to 1000000000\./,
      ['k', 9, 2.5, 9, 'default'],
    ],
    [/^The limit of throttler "default" is -1\./, ['k', 9, -1, 9, 'default']],
    [/^The blockDuration of throttler "default" is -1\. .*0 means no block/, ['k', 9, 1, -1, 'default']],
    [/^The blockDuration of throttler "default" is 0\.5\./, ['k', 9, 1, 0.5, 'default']],
    [/^The key of throttler "default" is ""\./, ['', 9, 1, 9, 'default']],
    [/^The key of throttler "default" is undefined\./, [undefined, 9, 1, 9, 'default']],
    [/^The name of a throttler is ""\./, ['k', 9, 1, 9, '']],
  ])('refuses with %s', async (message, args) => {
    const attempt = storage.increment(...(args as Parameters<ThrottlerStorage['increment']>));
    await expect(attempt).rejects.toThrow(InvalidInputError);
    await expect(attempt).rejects.toThrow(message);
    expect(await keysUnder(bench)).toEqual([]);
  });
});

describe('without Redis', () => {
  it.each(['allow', 'local', 'deny'] as const)('onRedisError decides: %s', async (onRedisError) => {
    const bench = await openBench(standalone(), { onRedisError, deadlineMs: 50 });
    const storage = new RateLimitThrottlerStorage(bench.resilient, 'fixed-window');
    bench.client.disconnect();
    const hit = () => storage.increment('a', 60_000, 1, 30_000, 'default');
    if (onRedisError === 'deny') {
      await expect(hit()).rejects.toMatchObject({ status: 503 });
    } else {
      expect(await hit()).toMatchObject({ isBlocked: false });
      expect((await hit()).isBlocked).toBe(onRedisError === 'local');
    }
    bench.close();
  });
});

describe('options', () => {
  it('are checked at boot', () => {
    expect(() => resolveStorageOptions({ algorithm: 'leaky' as 'fixed-window' })).toThrow(InvalidOptionError);
    expect(() => resolveStorageOptions({ algorithm: 'leaky' as 'fixed-window' })).toThrow(
      /^RateLimitThrottlerStorageModule: algorithm is "leaky"\./,
    );
    expect(resolveStorageOptions({}).algorithm).toBe('fixed-window');
  });

  it('are optional', () => {
    expect(RateLimitThrottlerStorageModule.forRoot().module).toBe(RateLimitThrottlerStorageModule);
  });
});

describe('a client that polls 20 times a second against 5 per 500 ms', () => {
  it('is admitted almost as often as the limit allows: by the storage on each kind of server, and under the guard on each platform', async () => {
    const benches = await Promise.all(servers.map(([, connect]) => openBench(connect())));
    const client = standalone();
    const apps = await Promise.all(
      platforms.map(([, adapter]) =>
        ThrottlerBench.open(client, adapter(), { throttlers: [{ limit: 1, ttl: 60_000 }] }),
      ),
    );
    // A machine that stands still for a while admits nobody meanwhile.
    await whileNothingStalls(async (n) => {
      const admitted = await Promise.all([
        ...benches.map((bench) => {
          const storage = new RateLimitThrottlerStorage(bench.resilient, 'fixed-window');
          return poll(async () => !(await storage.increment(`poller-${n}`, 500, 5, 500, 'default')).isBlocked);
        }),
        ...apps.map((app) => poll(async () => (await app.get('/cats/polled')).status === 200)),
      ]);
      for (const times of admitted) expect(times).toBeGreaterThanOrEqual(6 * SECONDS - 1);
      // At most one block of 500 ms more than there is time for fits, with 5 between each two: more would be a leak.
      for (const times of admitted) expect(times).toBeLessThanOrEqual(5 * (2 * SECONDS + 1));
    });
    for (const app of apps) await app.app.close();
    for (const bench of benches) bench.close();
    client.disconnect();
  }, 60_000);
});

describe.each(platforms)("throttler's own guard on %s", (_platform, adapter) => {
  describe.each(few(servers))('and %s', (_server, connect) => {
    let client: ReturnType<typeof connect>;
    let bench: ThrottlerBench;
    beforeEach(() => {
      client = connect();
    });
    afterEach(async () => {
      await bench.app.close();
      client.disconnect();
    });
    const open = async (options: Parameters<typeof ThrottlerBench.open>[2]): Promise<void> => {
      bench = await ThrottlerBench.open(client, adapter(), options);
    };

    it('limits each route by its own values, and shows them in the headers', async () => {
      await open({ throttlers: [{ limit: 5, ttl: 60_000 }] });
      for (const remaining of ['1', '0']) {
        const { status, headers } = await bench.get('/cats');
        expect([status, headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual([
          200,
          '2',
          remaining,
        ]);
        expect(Number(headers.get('x-ratelimit-reset'))).toBeGreaterThan(0);
        expect(Number(headers.get('x-ratelimit-reset'))).toBeLessThanOrEqual(60);
        expect(headers.get('retry-after')).toBeNull();
      }
      const refused = await bench.get('/cats');
      expect([refused.status, refused.headers.get('x-ratelimit-limit')]).toEqual([429, null]);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50);
      expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);

      expect(await bench.statuses('/dogs', 4)).toEqual([200, 200, 200, 429]);
      expect(await bench.statuses('/dogs/rex', 4)).toEqual([200, 200, 200, 429]);
      expect(await bench.statuses('/cats/free', 8)).toEqual(new Array(8).fill(200));
    });

    it.each(['/cats/slow', '/cats/strict'])('a new window begins after the block of %s', async (path) => {
      await open({ throttlers: [{ limit: 5, ttl: 60_000 }] });
      await inTime(
        300,
        async () => {
          const crowd = await Promise.all(Array.from({ length: 5 }, () => bench.get(path)));
          const statuses = crowd.map(({ status }) => status).sort();
          expect(statuses.slice(0, 3)).toEqual([200, 200, 429]);
        },
        // Until the block of the last time is over.
        (n) => sleep(n === 0 ? 0 : 1_500),
      );
      const fresh = await eventually(
        async () => {
          const answer = await bench.get(path);
          expect(answer.status).toBe(200);
          return answer;
        },
        { everyMs: 25 },
      );
      expect(fresh.headers.get('x-ratelimit-remaining')).toBe('1');
    });

    it('counts several throttlers separately, each with its own headers', async () => {
      await open({
        throttlers: [
          { name: 'short', limit: 3, ttl: 30_000 },
          { name: 'long', limit: 100, ttl: 60_000 },
        ],
      });
      const { headers } = await bench.get('/cats/free');
      expect([headers.get('x-ratelimit-limit-short'), headers.get('x-ratelimit-remaining-short')]).toEqual(['3', '2']);
      expect([headers.get('x-ratelimit-limit-long'), headers.get('x-ratelimit-remaining-long')]).toEqual(['100', '99']);
      expect(await bench.statuses('/cats/free', 3)).toEqual([200, 200, 429]);
      const refused = await bench.get('/cats/free');
      expect(Number(refused.headers.get('retry-after-short'))).toBeGreaterThan(0);
      expect(refused.headers.get('retry-after-long')).toBeNull();
    });

    it("counts by the app's own tracker and key, and responds with 500 to invalid values", async () => {
      const byUser = (request: Record<string, unknown>): string =>
        (request['headers'] as Record<string, string>)['x-user'] ?? '';
      await open({
        throttlers: [{ limit: 2, ttl: 60_000 }],
        getTracker: byUser,
        generateKey: (_context: ExecutionContext, tracker: string, name: string) => `${name}/${tracker}`,
      });
      expect(await bench.statuses('/cats', 3, { 'x-user': 'a' })).toEqual([200, 200, 429]);
      // One key for all routes, so the other route is blocked too; another user is not.
      expect(await bench.statuses('/cats/polled', 1, { 'x-user': 'a' })).toEqual([429]);
      expect(await bench.statuses('/cats', 2, { 'x-user': 'b' })).toEqual([200, 200]);
      expect(await bench.statuses('/cats/spoilt', 1, { 'x-user': 'c' })).toEqual([500]);
      const keys = await keysUnder({ client, prefix: bench.prefix });
      expect(
        keys.every((key) =>
          /:(fixed-window:throttler\.default:\d+|penalty:throttler\.default):default\/[abc]$/.test(key),
        ),
      ).toBe(true);
      expect(keys.length).toBeGreaterThan(0);
      if (client instanceof Cluster) expect(keys[0]).toMatch(/\{\d+\}/);
    });
  });
});
