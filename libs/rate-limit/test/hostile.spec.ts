import { subscribe } from 'node:diagnostics_channel';
import { validateHeaderValue } from 'node:http';
import { RateLimitEvents, type RateLimitRule } from 'luanest/rate-limit';
import { LuanestError } from 'luanest/script-registry';
import { startRedis } from 'luanest/testing/servers';
import { CommandWatcher } from '../../../test/support/command-watcher';
import { HOSTILE_IDS, hostileValues, isPolluted } from '../../../test/support/hostile';
import { eventually, sleep } from '../../../test/support/wait';
import { HttpResponses } from '../src/responses/http-responses';
import { resolveResponses } from '../src/responses/responses.options';
import { BlockCache } from '../src/limiter/resilient-limiter';
import { MemoryLimiter } from '../src/limiter/memory-limiter';
import { MAX_DURATION_MS, named, resolveRule } from '../src/rules/resolve-rule';
import { keysUnder, openBench, seeded, standalone, type Bench } from './support';
import { size } from '../../../test/support/size';

const DAY_MS = 86_400_000;

describe('state that another program has changed', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(standalone(), {}, { cachedRefusals: 0 });
  });
  afterAll(() => bench.close());

  /** Things that a stray hand may do to a key. */
  const spoil: ((key: string) => Promise<unknown>)[] = [
    (key) => bench.client.persist(key),
    (key) => bench.client.pexpire(key, 100 * MAX_DURATION_MS),
    async (key) => bench.client.decr(key).catch(() => undefined),
    async (key) => bench.client.decrby(key, 50).catch(() => undefined),
    async (key) => bench.client.append(key, 'x').catch(() => undefined),
    (key) => bench.client.set(key, ''),
    (key) => bench.client.set(key, 'nonsense'),
    (key) => bench.client.set(key, '99999999999999999999999'),
    (key) => bench.client.set(key, '1e309:0'),
    (key) => bench.client.set(key, '-1:-1:-1'),
    (key) => bench.client.multi().del(key).rpush(key, 'a', 'b').exec(),
    (key) => bench.client.multi().del(key).hset(key, 'a', 'b').exec(),
    (key) => bench.client.multi().del(key).zadd(key, 1, 'a', 5, 'b').exec(),
    (key) => bench.client.del(key),
  ];

  it('any changed key has a TTL within its bound after the next check, and decisions stay valid', async () => {
    const random = seeded(20_261_120);
    const failures: unknown[] = [];
    subscribe(RateLimitEvents.redisFailed, (event) => failures.push(event));
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
    const algorithms = ['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket'] as const;
    for (let round = 0; round < size(20, 400); round++) {
      const algorithm = pick(algorithms);
      const windowMs = pick([1, 3, 50, 1_000, 60_000, DAY_MS, 30 * DAY_MS]);
      const limit = pick(algorithm === 'sliding-log' ? [1, 5, 10_000] : [1, 5, 1_000, 1_000_000]);
      const blockMs = pick([0, 0, 0, 5, DAY_MS]);
      const rule: RateLimitRule = { name: `fuzz-${round}`, algorithm, windowMs, limit, blockMs };
      const bound = Math.max(2 * windowMs, blockMs) + 2_000;
      for (let step = 0; step < 4; step++) {
        if (step > 0) {
          for (const key of await keysOf(round, windowMs)) await pick(spoil)(key);
        }
        const cost = pick([0, 1, 1, 2, 1_000, 1_000_000]);
        const decision = await (random() < 0.2
          ? bench.service.peek(rule, 's', { cost })
          : bench.service.consume(rule, 's', { cost }));
        expect(failures).toEqual([]);
        expect(decision.source).toBe('redis');
        for (const { used, remaining, resetMs, nextMs, retryAfterMs } of decision.rules) {
          expect(used).toBeGreaterThanOrEqual(0);
          expect(remaining).toBeGreaterThanOrEqual(0);
          expect(remaining).toBeLessThanOrEqual(limit);
          const never = decision.reason === 'cost-over-limit';
          expect(never).toBe(!decision.allowed && cost > limit);
          expect(Math.max(resetMs, never ? 0 : retryAfterMs)).toBeLessThanOrEqual(bound);
          expect(Math.min(resetMs, retryAfterMs, nextMs)).toBeGreaterThanOrEqual(0);
        }
        for (const key of await keysOf(round, windowMs)) {
          // A penalty that no one looks at is not touched.
          if (key.includes(':penalty:') && blockMs === 0) continue;
          const ttl = await bench.client.pttl(key);
          expect([key, ttl]).toEqual([key, expect.any(Number)]);
          expect(ttl).not.toBe(-1);
          expect(ttl).toBeLessThanOrEqual(bound);
        }
      }
    }
  }, 120_000);

  async function keysOf(round: number, windowMs: number): Promise<string[]> {
    const start = `${bench.prefix}:rate-limit:{0}`;
    const names = ['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket', 'penalty'];
    const keys = names.map((name) => `${start}:${name}:fuzz-${round}${name === 'penalty' ? '' : `:${windowMs}`}:s`);
    const there = await Promise.all(keys.map((key) => bench.client.exists(key)));
    return keys.filter((_, i) => there[i] === 1);
  }

  it('a client that polls 20 times a second against 5 per 500 ms for 6 s is admitted at least 35 times', async () => {
    const rule = { name: 'polled', limit: 5, windowMs: 500 };
    let admitted = 0;
    const ends = performance.now() + 6_000;
    for (let next = performance.now(); next < ends; next += 50) {
      await sleep(Math.max(0, next - performance.now()));
      if ((await bench.service.consume(rule, 's')).allowed) admitted += 1;
    }
    expect(admitted).toBeGreaterThanOrEqual(35);
    expect(admitted).toBeLessThanOrEqual(65);
  }, 20_000);

  it('the first hit sets the reset, and no clock of an app moves it', async () => {
    const rule = { name: 'steady', limit: 100, windowMs: 30_000 };
    const now = jest.spyOn(Date, 'now');
    const ends = new Set<number>();
    try {
      for (const skewMs of [0, 600_000, -600_000, 0]) {
        const real = performance.timeOrigin + performance.now();
        now.mockImplementation(() => real + skewMs);
        const { allowed } = await bench.service.consume(rule, 's');
        expect(allowed).toBe(true);
        const [key] = (await keysUnder(bench)).filter((each) => each.includes(':steady:'));
        ends.add(await bench.client.pexpiretime(key ?? ''));
        await sleep(20);
      }
    } finally {
      now.mockRestore();
    }
    expect(ends.size).toBe(1);
    expect((await bench.service.peek(rule, 's')).rules[0]?.used).toBe(4);
  });
});

it('three rules of one subject need one command', async () => {
  const server = await startRedis();
  const bench = await openBench(standalone({}, server.port));
  const watcher = await CommandWatcher.open(server.port);
  try {
    const sent = (): unknown[] =>
      watcher.commands.filter(({ from }) => from !== 'lua').map(({ args: [name] }) => name?.toLowerCase());
    const algorithms = ['fixed-window', 'sliding-log', 'token-bucket'] as const;
    for (const mixed of [true, false]) {
      watcher.clear();
      const checks = algorithms.map((algorithm, i) => ({
        subject: 's',
        rule: {
          ...{ name: `one-${i}-${mixed}`, limit: 5, windowMs: 60_000 },
          algorithm: mixed ? algorithm : ('fixed-window' as const),
        },
      }));
      expect(await bench.service.consume(checks)).toMatchObject({ allowed: true });
      await bench.client.get('mark');
      await eventually(() => expect(sent()).toEqual(['evalsha', 'get']));
    }
  } finally {
    watcher.close();
    bench.close();
    await server.stop();
  }
});

describe('hostile subjects', () => {
  it('are counted separately, in Redis and in memory', async () => {
    const odd = ['\ud800', '\ud801', 'z'.repeat(10_240), `${'z'.repeat(10_239)}y`];
    const subjects = [...HOSTILE_IDS, ...odd];
    const rule = { name: 'strangers', limit: 1, windowMs: 60_000 };
    const bench = await openBench(standalone());
    try {
      for (const expected of [true, false, false]) {
        const decisions = await Promise.all(subjects.map((subject) => bench.service.consume(rule, subject)));
        for (const [i, { allowed, source }] of decisions.entries()) {
          expect([subjects[i], allowed, source]).toEqual([subjects[i], expected, expect.stringMatching('redis|cache')]);
        }
      }
    } finally {
      bench.close();
    }
  });

  it('have cache entries of bounded size that differ from those of other rules', () => {
    const cache = new BlockCache(10, 1_000, () => 0);
    const check = (name: string, subject: string) => ({
      rule: named(resolveRule({ limit: 1, windowMs: 1 }), name),
      subject,
      limit: 1,
      cost: 1,
    });
    const verdict = { verdict: 1, used: 1, resetMs: 500, retryMs: 500, nextMs: 500, at: 0 };
    const refusal = { check: check('GET /a', 'undelete:x'), ...verdict };
    cache.add(refusal, 0);
    expect(cache.find(refusal.check)).toEqual(refusal);
    // The subject of the first is the rest of the second's name.
    expect(cache.find(check('GET /a:undelete', 'x'))).toBeUndefined();
    const memory = new MemoryLimiter(() => 0, 10);
    const passes = (name: string, subject: string) => memory.decide([check(name, subject)], true)[0]?.verdict === 0;
    expect([passes('GET /a', 'undelete:x'), passes('GET /a:undelete', 'x'), passes('GET /a', 'undelete:x')]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('are refused if they are not text, as are invalid numbers', async () => {
    const bench = await openBench(standalone());
    try {
      const rule = { name: 'typed', limit: 5, windowMs: 60_000 };
      for (const value of hostileValues()) {
        const { service } = bench;
        const calls = [
          () => service.consume(rule, value as string),
          () => service.consume({ ...rule, name: value as string }, 's'),
        ];
        if (typeof value !== 'number') calls.push(() => service.consume(rule, 's', { cost: value as number }));
        for (const call of calls) {
          const error = await call().catch((reason: unknown) => reason);
          // Not by Jest's own words: they would have to show what cannot be shown.
          expect(error instanceof LuanestError).toBe(true);
        }
      }
      expect(isPolluted()).toBe(false);
    } finally {
      bench.close();
    }
  });
});

it('headers contain only printable ASCII, for any name of a route', () => {
  const responses = new HttpResponses(resolveResponses({}));
  for (const name of [...HOSTILE_IDS, '\ud800', '\udc00x', 'GET /\u{1f9e7}', 'a\r\nset-cookie: b=c']) {
    const rule = {
      name,
      allowed: false,
      shadow: false,
      limit: 1,
      windowMs: 1,
      used: 1,
      remaining: 0,
      resetMs: 1,
      nextMs: 1,
      retryAfterMs: 1,
    };
    const headers = responses.headers({
      ...{ allowed: false, rules: [rule], policies: [rule], retryAfterMs: 1, source: 'redis' },
    } as never);
    for (const [header, value] of Object.entries(headers)) {
      expect([name, header, value]).toEqual([
        name,
        expect.stringMatching(/^[\w-]+$/),
        expect.stringMatching(/^[\x20-\x7e]*$/),
      ]);
      expect(() => validateHeaderValue(header, value)).not.toThrow();
    }
  }
});

const [FIRST, SUBJECTS] = [size(8_000, 100_000), size(20_000, 1_000_000)];

describe('many subjects', () => {
  it('do not grow the heap, and use as much memory of Redis as the README says', async () => {
    const server = await startRedis();
    const bench = await openBench(standalone({}, server.port));
    try {
      const collect = collector();
      const rule = { name: 'many', limit: 5, windowMs: 3_600_000 };
      const consume = async (from: number, to: number): Promise<void> => {
        for (let start = from; start < to; start += 2_000) {
          const batch = Array.from({ length: 2_000 }, (_, i) => bench.service.consume(rule, `10.0.${start + i}`));
          await Promise.all(batch);
        }
      };
      await consume(0, FIRST);
      const [heapBefore, redisBefore] = [collect(), await memoryOf(bench)];
      await consume(FIRST, SUBJECTS);
      const grownBy = collect() - heapBefore;
      const perSubject = ((await memoryOf(bench)) - redisBefore) / (SUBJECTS - FIRST);
      process.stdout.write(
        `heap ${Math.round(grownBy / 1_024)} KiB more, Redis ${perSubject.toFixed(0)} bytes a subject\n`,
      );
      expect(grownBy).toBeLessThan(size(5, 20) * 1_048_576);
      expect(perSubject).toBeLessThan(250);
    } finally {
      bench.close();
      await server.stop();
    }
  }, 300_000);
});

async function memoryOf({ client }: Bench): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]);
}

/** Heap in use after a full collection, bytes. */
function collector(): () => number {
  const { setFlagsFromString } = jest.requireActual<typeof import('node:v8')>('node:v8');
  const { runInNewContext } = jest.requireActual<typeof import('node:vm')>('node:vm');
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  return () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
}
