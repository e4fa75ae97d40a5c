import { randomUUID } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type Cluster, type Redis } from 'ioredis';
import Redis5 from 'ioredis5';
import fc from 'fast-check';
import {
  ScriptRegistryEvents,
  ScriptFailedError,
  type ScriptRegistry,
  defineScript,
  str,
} from 'luanest/script-registry';
import { ReplyDecodeError } from '../src/script-registry.errors';
import { size } from '../../../test/support/size';
import { Gate } from '../../../test/support/gate';
import { sharedClusterNodes, sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { sleep } from '../../../test/support/wait';
import {
  append,
  clock,
  clusterClient,
  columns,
  countOnce,
  limiter,
  openRegistry,
  quiet,
  shapes,
  standaloneClient,
  sumAll,
  tally,
} from './support';
import { itIoredis } from '../../../test/support/client-kind';

const redis5 = (): Redis => quiet(new Redis5(sharedRedisUrl()) as unknown as Redis);
const cluster5 = (): Cluster =>
  quiet(new Redis5.Cluster(sharedClusterNodes(), { slotsRefreshTimeout: 5_000 }) as unknown as Cluster);

const clients: [name: string, open: () => Redis | Cluster, grouping: boolean][] = [
  ['standalone, RESP3', () => standaloneClient({ protocol: 3 } as object), true],
  ['standalone, RESP2', () => standaloneClient({ protocol: 2 } as object), true],
  ['standalone, autopipelining', () => standaloneClient({ enableAutoPipelining: true }), true],
  ['standalone, no offline queue', () => standaloneClient({ enableOfflineQueue: false }), true],
  ['standalone, grouping off', () => standaloneClient(), false],
  ['standalone, ioredis 5', redis5, true],
  ['Cluster, RESP3', () => clusterClient(), true],
  ['Cluster, autopipelining', () => clusterClient({ enableAutoPipelining: true }), true],
  ['Cluster, ioredis 5', cluster5, true],
];

const SHAPES: Record<string, (text: string) => unknown> = {
  int: () => 42,
  digits: () => '42',
  text: (text) => text,
  nil: () => null,
  false: () => null,
  pair: (text) => [1, text],
  triple: (text) => [1, '2', [3, text]],
  hole: () => [1],
  null: () => [1, null, 3],
  empty: () => [],
  nothing: () => null,
  true: () => 1,
  fraction: () => 3,
  values: () => 1,
  'values-nil': () => null,
  status: () => 'FINE',
  marks: (text) => ['e', text],
  'numbered-status': () => 'FINE',
};
const FAILURES: Record<string, (text: string) => RegExp> = {
  error: () => /MYCODE/,
  'numbered-error': () => /MYCODE/,
  raise: () => /ERR .*raised/,
  wrongtype: () => /WRONGTYPE/,
};

describe.each(clients)('registry on %s', (_name, open, grouping) => {
  const prefix = uniquePrefix();
  let client: Redis | Cluster;
  let registry: ScriptRegistry;

  beforeAll(async () => {
    client = open();
    registry = await openRegistry(client, { prefix, grouping });
  });

  afterAll(() => {
    registry.close();
    client.disconnect();
  });

  const key = (subject: string, name = 'counter'): string => registry.keySpace('test').tag(subject).key(name);

  it('runs one call', async () => {
    const call = { keys: { counter: key('one') }, args: { limit: 2, windowMs: 60_000, cost: 1 } };
    expect(await registry.run(limiter, call)).toMatchObject({ allowed: true, used: 1 });
    expect(await registry.run(limiter, call)).toMatchObject({ allowed: true, used: 2 });
    const refused = await registry.run(limiter, call);
    expect(refused).toMatchObject({ allowed: false, used: 2 });
    expect(refused.resetMs).toBeGreaterThan(50_000);
  });

  it('gives each call its own arguments, whichever of them its neighbours have too', async () => {
    const few = (...texts: string[]) => fc.constantFrom(...texts);
    const call = fc.record({ one: few('a', 'b', ''), rule: few('r', 'longer rule'), two: fc.nat(1) });
    const alike = fc
      .tuple(fc.array(few('a', 'b'), { minLength: 1 }), call)
      .map(([ones, same]) => ones.map((own) => ({ ...same, one: own })));
    const same = fc.tuple(fc.nat(9), call).map(([more, args]) => Array.from({ length: more + 1 }, () => args));
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.array(call), alike, same), fc.boolean(), async (calls, oneKey) => {
        const keys = calls.map((_, i) => ({ any: key('columns', oneKey ? 'any' : `k${i}`) }));
        const answers = await Promise.all(
          calls.map((args, i) => registry.run(columns, { keys: keys[i] as { any: string }, args })),
        );
        expect(answers).toEqual(calls.map(({ one, rule, two }, i) => [one, rule, `${two}`, 3, keys[i]?.any, 1]));
      }),
      { numRuns: size(5, 60) },
    );
  });

  describe('a script that finishes', () => {
    const FINISHING = size(140, 350);
    const KINDS = ['before', 'ok', 'error', 'after', 'nil', 'more', 'before'];
    const run = async (name: string, what: string, weight = 1): Promise<void> => {
      const keys = { any: key('tally', name), total: key('tally', 'total') };
      const answer = registry.run(tally, { keys, args: { what, weight } });
      if (what === 'error') return expect(answer).rejects.toThrow(/MYCODE refused/);
      if (what === 'before' || what === 'after') return expect(answer).rejects.toThrow(/raised/);
      expect(await answer).toEqual(what === 'nil' ? null : [what, String(weight), keys.any]);
    };
    const told = async (name: string): Promise<number[]> =>
      (await client.hmget(key('tally', name), 'calls', 'writes')).map(Number);
    /** Returns the number of groups that were sent meanwhile. How many there are depends on how quickly Redis replies. */
    const groupsOf = async (work: () => Promise<unknown>): Promise<number> => {
      let groups = 0;
      const listener = (): void => void groups++;
      subscribe(ScriptRegistryEvents.groupSent, listener);
      await work().finally(() => unsubscribe(ScriptRegistryEvents.groupSent, listener));
      return groups;
    };

    it('runs `finish` for a lone call, whether it failed or not', async () => {
      for (const what of ['ok', 'error', 'before', 'after', 'nil']) await run('lone', what);
      expect(await told('lone')).toEqual([4, 4]);
    });

    it('runs `finish` once for each key of a group, and gives each caller their own reply', async () => {
      const before = Number(await client.get(key('tally', 'total')));
      const groups = await groupsOf(() =>
        Promise.all(Array.from({ length: FINISHING }, (_, i) => run('common', KINDS[i % 7] as string, i % 2))),
      );
      const [calls, writes = 0] = await told('common');
      expect(calls).toBe((FINISHING / 7) * 5);
      if (grouping) expect(writes).toBeLessThanOrEqual(groups);
      else expect(writes).toBe((FINISHING / 7) * 5);
      const ownGroups = await groupsOf(() =>
        Promise.all(Array.from({ length: FINISHING }, (_, i) => run(`own-${i % 3}`, KINDS[i % 7] as string, i % 2))),
      );
      const own = await Promise.all([0, 1, 2].map((i) => told(`own-${i}`)));
      expect(own.reduce((sum, [count = 0]) => sum + count, 0)).toBe((FINISHING / 7) * 5);
      for (const [count = 0, times = 0] of own) expect(times).toBeLessThanOrEqual(Math.min(count, ownGroups));
      expect(Number(await client.get(key('tally', 'total'))) - before).toBe((FINISHING / 7) * 10);
    });

    it("rejects every call of a group whose `finish` fails, and gives no caller another one's reply", async () => {
      await client.set(key('tally', 'total'), 'no number', 'PX', 60_000);
      const answers = await Promise.allSettled(
        Array.from({ length: 200 }, (_, i) => {
          const keys = {
            any: key('tally', `f${i % 5}`),
            total: key('tally', i % 5 === 0 ? 'total' : `total-${i % 5}`),
          };
          return registry.run(tally, { keys, args: { what: `w${i}`, weight: i } });
        }),
      );
      await client.del(key('tally', 'total'));
      for (const [i, answer] of answers.entries()) {
        if (answer.status === 'fulfilled') expect(answer.value).toEqual([`w${i}`, `${i}`, key('tally', `f${i % 5}`)]);
        else expect(answer.reason).toMatchObject({ code: 'SCRIPT_FAILED' });
      }
      expect(answers.filter((answer, i) => i % 5 === 0 && answer.status === 'fulfilled')).toEqual([]);
    });
  });

  it('runs the Lua above `-- @call` once for a group, and gives each call its own reply', async () => {
    const run = (shape: string) => registry.run(clock, { keys: { any: key('clock') }, args: { shape } });
    const check = async (shape: string): Promise<string> => {
      if (shape === 'error') return expect(run(shape)).rejects.toThrow(/MYCODE refused/) as never;
      if (shape === 'raise') return expect(run(shape)).rejects.toThrow(/user_script:7: raised/) as never;
      const reply = await run(shape);
      if (shape === 'nil') return expect(reply).toBeNull() as never;
      const [us = '', any] = reply as string[];
      expect(any).toBe(key('clock'));
      expect(Math.abs(Number(us) / 1_000 - Date.now())).toBeLessThan(600_000);
      return us;
    };
    const all = ['time', 'nil', 'error', 'raise', 'time'];
    for (const shape of all) await check(shape);
    await Promise.all(Array.from({ length: 40 }, (_, i) => check(all[i % 5] as string)));
    const times = await Promise.all(Array.from({ length: 120 }, () => check('time')));
    // Each group reads the time once.
    if (grouping) expect(new Set(times).size).toBeLessThan(60);
  });

  it('gives each of many concurrent calls its own answer', async () => {
    const each = size(4, 40);
    const runs = Array.from({ length: 50 * each }, (_, i) => {
      const subject = `user-${i % 50}`;
      return registry.run(countOnce, {
        keys: { counter: key(subject), tokens: key(subject, 'tokens') },
        args: { token: `t${i}` },
      });
    });
    const answers = await Promise.all(runs);
    for (let user = 0; user < 50; user++) {
      const counts = answers.filter((_, i) => i % 50 === user).map(({ count }) => Number(count));
      expect(counts).toEqual(Array.from({ length: each }, (_, i) => i + 1));
    }
  });

  it('decodes every shape alone, as it does in a group', async () => {
    for (const [shape, expected] of Object.entries(SHAPES)) {
      expect(await registry.run(shapes, { keys: { any: key('s') }, args: { shape, text: 'ünï' } })).toEqual(
        expected('ünï'),
      );
    }
    const [seconds] = (await registry.run(shapes, {
      keys: { any: key('s') },
      args: { shape: 'time', text: '' },
    })) as string[];
    expect(Math.abs(Number(seconds) * 1_000 - Date.now())).toBeLessThan(60_000);
  });

  it('isolates calls: nils and errors of neighbours change no answer', async () => {
    const names = [...Object.keys(SHAPES), ...Object.keys(FAILURES)];
    const call = fc.record({ shape: fc.constantFrom(...names), text: fc.string({ unit: 'grapheme', maxLength: 8 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 300 }), async (calls) => {
        const outcomes = await Promise.allSettled(
          calls.map((args) => registry.run(shapes, { keys: { any: key('s') }, args })),
        );
        calls.forEach(({ shape, text }, i) => {
          const outcome = outcomes[i];
          const failure = FAILURES[shape];
          if (failure) {
            expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(ScriptFailedError) });
            expect((outcome as PromiseRejectedResult).reason.message).toMatch(failure(text));
          } else expect(outcome).toEqual({ status: 'fulfilled', value: SHAPES[shape]?.(text) });
        });
      }),
      { numRuns: size(2, 25) },
    );
  });

  it('starts calls of one script and slot in the order in which they were made', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 400 }), async (pauses) => {
        const log = key(randomUUID(), 'log');
        const done: Promise<number>[] = [];
        for (const [i, pause] of pauses.entries()) {
          if (pause === 0) await new Promise((resolve) => setImmediate(resolve));
          done.push(registry.run(append, { keys: { log }, args: { entry: String(i) } }));
        }
        expect(await Promise.all(done)).toEqual(pauses.map((_, i) => i + 1));
        expect(await client.lrange(log, 0, -1)).toEqual(pauses.map((_, i) => String(i)));
      }),
      { numRuns: size(2, 15) },
    );
  });

  it('takes lists of keys and arguments, of any length, in one group', async () => {
    const tag = registry.keySpace('test').tag('lists');
    await Promise.all([1, 2, 3].map((n) => client.set(tag.key('part', String(n)), n, 'PX', 60_000)));
    const runs = Array.from({ length: 40 }, (_, n) =>
      registry.run(sumAll, {
        keys: {
          total: tag.key('total', String(n)),
          parts: [1, 2, 3].slice(0, n % 4).map((part) => tag.key('part', String(part))),
        },
        args: { factor: 10, extra: Array.from({ length: n }, () => 1) },
      }),
    );
    const sums = [0, 1, 3, 6];
    const results = await Promise.all(runs);
    results.forEach((result, n) => {
      expect(result).toEqual([((sums[n % 4] as number) + n) * 10, 1 + (n % 4), 1 + n]);
    });
    const large = Array.from({ length: 20_000 }, () => 1);
    expect(
      (
        await registry.run(sumAll, { keys: { total: tag.key('total'), parts: [] }, args: { factor: 1, extra: large } })
      )[0],
    ).toBe(20_000);
  });

  it('waits for replicas on a connection of its own, and says how many have the write', async () => {
    const call = { keys: { counter: key('w'), tokens: key('w', 'tokens') } };
    const runs = Array.from({ length: 20 }, (_, i) =>
      registry.runAndWait(
        countOnce,
        { ...call, args: { token: `w${i}` } },
        { replicas: 1, timeoutMs: registryIsClustered() ? 10_000 : 50, deadlineMs: 20_000 },
      ),
    );
    const answers = await Promise.all(runs);
    expect(answers.map(({ result }) => Number(result.count)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, i) => i + 1),
    );
    for (const { replicas } of answers) expect(replicas).toBe(registryIsClustered() ? 1 : 0);
  });

  it('refuses a bad call before anything is sent', async () => {
    const bad = (input: unknown): Promise<unknown> => registry.run(limiter, input as never);
    await expect(bad({ keys: {}, args: { limit: 1, windowMs: 1, cost: 1 } })).rejects.toThrow(
      expect.objectContaining({ code: 'INVALID_CALL' }) as Error,
    );
    await expect(bad({ keys: { counter: '' }, args: { limit: 1, windowMs: 1, cost: 1 } })).rejects.toThrow(
      /"counter".*non-empty/,
    );
    await expect(bad({ keys: { counter: '\ud800' }, args: { limit: 1, windowMs: 1, cost: 1 } })).rejects.toThrow(
      /"counter".* not well-formed Unicode/,
    );
    await expect(bad({ keys: { counter: key('x') }, args: { limit: 1.5, windowMs: 1, cost: 1 } })).rejects.toThrow(
      /"limit".*1\.5/,
    );
    await expect(bad({ keys: { counter: key('x') }, args: { limit: 1, windowMs: '1', cost: 1 } })).rejects.toThrow(
      /"windowMs"/,
    );
    const lone = { keys: { any: key('x') }, args: { shape: 'text', text: '\ud800' } };
    await expect(registry.run(shapes, lone)).rejects.toThrow(/well-formed/);
    expect(await client.exists(key('x'))).toBe(0);
  });

  it('refuses keys of two slots, on a single server as well', async () => {
    const run = registry.run(countOnce, {
      keys: { counter: key('a'), tokens: key('b', 'tokens') },
      args: { token: 't' },
    });
    await expect(run).rejects.toThrow(expect.objectContaining({ code: 'CROSS_SLOT' }) as Error);
    await expect(run).rejects.toThrow(/\{a\}.*\{b\}.*KeySpace/);
  });

  it.each([undefined, null, 5, {}])('refuses %p instead of a script', async (script) => {
    await expect(registry.run(script as never, { keys: {}, args: {} })).rejects.toMatchObject({
      code: 'SCRIPT_NOT_REGISTERED',
      message: expect.stringContaining(' is not registered with ScriptRegistry "test".') as string,
    });
  });

  it('refuses a script that is not registered, and reports a reply that cannot be decoded', async () => {
    const stranger = defineScript({
      name: 'test.stranger',
      keys: ['k'],
      args: {},
      source: 'return KEYS[1]',
      reply: (raw: string) => raw,
    });
    await expect(registry.run(stranger, { keys: { k: key('x') }, args: {} })).rejects.toThrow(
      expect.objectContaining({ code: 'SCRIPT_NOT_REGISTERED' }) as Error,
    );
    const picky = defineScript({
      name: 'test.picky',
      keys: ['log'],
      args: { entry: str },
      source: append.source,
      reply: (): number => {
        throw new Error('no');
      },
    });
    registry.register([picky]);
    await expect(registry.run(picky, { keys: { log: key('p') }, args: { entry: 'x' } })).rejects.toThrow(
      ReplyDecodeError,
    );
  });

  const registryIsClustered = (): boolean => 'isCluster' in client && client.isCluster;
});

itIoredis(
  'keeps calls for slots that a Cluster client does not know, until the client can follow redirections',
  async () => {
    const client = clusterClient();
    const check = new Gate();
    const ask = client.cluster.bind(client) as (...args: unknown[]) => unknown;
    // ioredis is ready after this command, and its nodes are earlier.
    client.cluster = ((...args: unknown[]) => {
      for (let slot = 0; slot < client.slots.length; slot += 2) Reflect.deleteProperty(client.slots, slot);
      return check.pass().then(() => ask(...args));
    }) as never;
    const registry = await openRegistry(client, { prefix: uniquePrefix() });
    const space = registry.keySpace('test');
    const answers = Promise.allSettled(
      Array.from({ length: 24 }, (_, i) => {
        const keys = { log: space.tag(`early-${i}`).key('log') };
        return registry.run(append, { keys, args: { entry: 'x' } });
      }),
    );
    // Time for the redirections.
    await sleep(200);
    expect(client.status).toBe('connect');
    check.open();
    expect(await answers).toEqual(Array.from({ length: 24 }, () => ({ status: 'fulfilled', value: 1 })));
    registry.close();
    client.disconnect();
  },
);
