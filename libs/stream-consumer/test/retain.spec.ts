import { defineStream, deadLetter, type StreamDefinition, type StreamMessage } from 'luanest/stream-consumer';
import { InvalidOptionError } from '../../internal/src';
import { CommandWatcher } from '../../../test/support/command-watcher';
import { Gate } from '../../../test/support/gate';
import { sharedRedisUrl } from '../../../test/support/shared-servers';
import { eventually, sleep } from '../../../test/support/wait';
import { clusterClient, standaloneClient } from '../../script-registry/test/support';
import { group, openBench, servers, type Bench } from './support';
import { few } from '../../../test/support/few';

type Numbers = StreamDefinition<number>;
const ofNumbers = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({ payload: from + i, key: `k${i % 7}` }));

it.each([
  [{}, 'retain has no limit. Set at least one of count, bytes and ageMs, or nothing would ever be deleted.'],
  [{ count: 0 }, 'retain.count is 0. Expected an integer from 1 to 9007199254740991.'],
  [{ bytes: 1 }, 'retain.bytes is 1. Expected an integer from 65536 to 9007199254740991.'],
  [{ ageMs: 1.5 }, 'retain.ageMs is 1.5. Expected an integer from 1000 to 9007199254740991 ms.'],
  [{ ms: 1 }, 'There is no option "ms" in retain. Known: count, bytes, ageMs.'],
  [7, 'retain is 7. Expected an object. Known options: count, bytes, ageMs.'],
])('refuses the retention %j', (retain, message) => {
  expect(() => defineStream({ name: 's', retain: retain as object })).toThrow(
    new InvalidOptionError(`defineStream: ${message}`),
  );
});

it('refuses retention of streams of which nothing is deleted, and a maxLength that would count what is kept', () => {
  const retain = { count: 1 };
  expect(() => defineStream({ name: 's', keys: ['a'], retain })).toThrow(/retain and keys are set without deleteAfter/);
  expect(defineStream({ name: 's', keys: ['a'], deleteAfter: ['g'], retain })).toMatchObject({ retain });
  expect(() => defineStream({ name: 's', maxLength: 5, retain })).toThrow(/retain and maxLength are both set/);
});

describe.each(few(servers))('what a stream retains, on %s', (_, client) => {
  let bench: Bench;
  /** A process that makes no checks while the test runs. */
  let still: Bench;
  beforeAll(async () => {
    bench = await openBench(client(), { watchEveryMs: 50 });
    still = await openBench(client(), { watchEveryMs: Infinity }, { prefix: bench.prefix });
  });
  afterAll(() => Promise.all([bench.close(), still.close()]));

  const kept = async ({ name }: Numbers, partition = 0): Promise<number[]> => {
    const rows = await bench.raw.xrange(bench.keys(name, 'g', partition).stream, '-', '+');
    return rows.map(([, fields]) => Number(fields[fields.indexOf('payload') + 1]));
  };
  const settled = (stream: Numbers, name = 'g') =>
    eventually(async () => expect(await bench.streams.stats(stream, name)).toMatchObject({ lag: 0, pending: 0 }));

  it('the newest messages are kept, and counted neither as pending nor as lag', async () => {
    const stream: Numbers = defineStream({ name: 'count', partitions: 2, retain: { count: 10 } });
    await bench.streams.handle({ stream, group: 'g' }, () => undefined);
    await bench.streams.publishMany(stream, ofNumbers(0, 90));
    await settled(stream);
    await eventually(async () => {
      for (const partition of [0, 1]) expect(await kept(stream, partition)).toHaveLength(10);
    });
    const all = [...(await kept(stream, 0)), ...(await kept(stream, 1))];
    expect(new Set(all).size).toBe(20);
    expect(await bench.streams.stats(stream, 'g')).toMatchObject({
      length: 20,
      lag: 0,
      pending: 0,
      oldestMs: undefined,
    });
    await bench.streams.publishMany(stream, ofNumbers(90, 93));
    await settled(stream);
    await eventually(async () => {
      expect(await bench.streams.stats(stream, 'g')).toMatchObject({ length: 20 });
    });
    const now = [...(await kept(stream, 0)), ...(await kept(stream, 1))];
    expect(now).toEqual(expect.arrayContaining([90, 91, 92]));
  });

  it('messages leave when they are old', async () => {
    const stream: Numbers = defineStream({ name: 'age', retain: { ageMs: 1_500 } });
    await bench.streams.handle({ stream, group: 'g' }, () => undefined);
    const { stream: key } = bench.keys('age', 'g');
    await bench.raw.xadd(key, '1-1', 'payload', '-1');
    await bench.streams.publishMany(stream, ofNumbers(0, 5));
    await settled(stream);
    await eventually(async () => expect(await kept(stream)).toEqual([0, 1, 2, 3, 4]));
    await eventually(async () => expect(await kept(stream)).toEqual([]));
  });

  it('the memory of the stream stays within its limit and one node', async () => {
    const bytes = 200_000;
    const stream = defineStream<string>({ name: 'bytes', retain: { bytes } });
    // Redis counts lists of pending messages, too. So the check that deletes comes when all messages are settled.
    await still.streams.handle({ stream, group: 'g' }, () => undefined);
    const { stream: key } = bench.keys('bytes', 'g');
    const memory = async () => Number(await bench.raw.memory('USAGE', key, 'SAMPLES', 0));
    for (const [count, size] of [
      [400, 1_000],
      [3_000, 100],
      [20, 20_000],
    ] as const) {
      const payload = 'x'.repeat(size);
      await bench.streams.publishMany(
        stream,
        Array.from({ length: count }, () => ({ payload })),
      );
      await settled(stream as never);
      expect(await memory()).toBeGreaterThan(bytes);
      const checking = await bench.streams.handle({ stream, group: 'g' }, () => undefined);
      await eventually(async () => expect(await memory()).toBeLessThanOrEqual(bytes));
      await sleep(200);
      await checking.stop();
      // No more than needed was deleted: a node of 4 KB, or of one message that is larger.
      expect(await memory()).toBeGreaterThan(bytes - 8_192 - 2 * size);
    }
  });

  it('what a group has not settled stays, however old it is, and what others have settled goes', async () => {
    const stream: Numbers = defineStream({ name: 'slow', retain: { count: 1 } });
    const gate = new Gate();
    await bench.streams.handle({ stream, group: 'g' }, () => undefined);
    const slow = await bench.streams.handle({ stream, group: 'slow' }, ({ payload }) =>
      payload % 10 === 0 && payload < 50 ? gate.pass() : undefined,
    );
    await bench.streams.publishMany(stream, ofNumbers(0, 50));
    await eventually(async () => expect(await kept(stream)).toEqual([0, 10, 20, 30, 40, 49]));
    // A group that reads nothing holds everything after what it has read.
    await bench.streams.pause(stream, 'slow');
    await sleep(100);
    await bench.streams.publishMany(stream, ofNumbers(50, 60));
    await settled(stream);
    await sleep(300);
    expect((await kept(stream)).slice(-10)).toEqual(ofNumbers(50, 60).map(({ payload }) => payload));
    await bench.streams.resume(stream, 'slow');
    gate.open();
    await eventually(async () => expect(await kept(stream)).toEqual([59]));
    await slow.stop();
  });

  it('dead letters and retries are kept apart from what is retained', async () => {
    const stream: Numbers = defineStream({ name: 'dead', retain: { count: 3 } });
    const seen: number[] = [];
    await bench.streams.handle({ stream, group: 'other' }, () => undefined);
    await bench.streams.handle({ stream, group: 'g', attempts: 2 }, ({ payload }) => {
      seen.push(payload);
      if (payload === 0 && seen.length < 9) return deadLetter('no');
      if (payload === 1) throw new Error('no');
      return undefined;
    });
    await bench.streams.publishMany(stream, ofNumbers(0, 8));
    await settled(stream);
    await eventually(async () => expect(await kept(stream)).toEqual([5, 6, 7]));
    const { items } = await bench.streams.deadLetters(stream, 'g');
    expect(items.map(({ payload }) => payload)).toEqual([0, 1]);
    expect(await bench.streams.replay(stream, 'g', [items[0]?.id ?? ''])).toBe(1);
    // A replayed message is a message of its own: it is kept like any other.
    await eventually(async () => expect(await kept(stream)).toEqual([6, 7, 0]));
    // It is stored before it is delivered.
    await eventually(() => expect(seen.filter((payload) => payload === 0)).toHaveLength(2));
  });

  it('a group that begins later gets what is kept, or only what comes, also in partitions that are added', async () => {
    const stream: Numbers = defineStream({ name: 'later', partitions: 2, retain: { count: 100 } });
    const more: Numbers = defineStream({ name: 'later', partitions: 5, retain: { count: 100 } });
    await bench.streams.handle({ stream, group: 'g' }, () => undefined);
    await bench.streams.publishMany(stream, ofNumbers(0, 40));
    await settled(stream);
    const [first, last, after]: number[][] = [[], [], []];
    await bench.streams.handle({ stream, group: 'first' }, ({ payload }) => void first?.push(payload));
    const handle = () =>
      still.streams.handle({ stream, group: 'last', from: 'end' }, ({ payload }) => void last?.push(payload));
    const lastHandle = await handle();
    await eventually(() => expect(first).toHaveLength(40));
    // While the group is stopped, another process adds partitions.
    await lastHandle.stop();
    const other = await openBench(client(), {}, { prefix: bench.prefix });
    await other.streams.publishMany(more, ofNumbers(40, 90));
    await eventually(() => expect(first).toHaveLength(90));
    await handle();
    await eventually(() => expect(last).toHaveLength(50));
    expect(Math.min(...(last ?? []))).toBe(40);
    const ids = await bench.raw.xrange(bench.keys('later', 'g', 4).stream, '-', '+');
    await bench.streams.handle({ stream, group: 'after', from: ids.at(-3)?.[0] ?? '' }, (message) => {
      if (message.id.startsWith('4:')) after?.push(message.payload);
    });
    await eventually(() => expect(after).toHaveLength(2));
    await other.close();
  });

  it('a new group begins at the end of all partitions, although two processes start it at the same time', async () => {
    const stream: Numbers = defineStream({ name: 'both', partitions: 8, retain: { count: 100 } });
    await bench.streams.publishMany(stream, ofNumbers(0, 200));
    const seen: number[] = [];
    const begin = ({ streams }: Bench) =>
      streams.handle({ stream, group: 'g', from: 'end' }, ({ payload }) => void seen.push(payload));
    await Promise.all([begin(bench), begin(still), begin(bench), begin(still)]);
    await bench.streams.publishMany(stream, ofNumbers(200, 240));
    await eventually(() => expect(seen.length).toBeGreaterThanOrEqual(40));
    await sleep(200);
    expect(seen.sort((a, b) => a - b)).toEqual(ofNumbers(200, 240).map(({ payload }) => payload));
    const config = bench.registry.keySpace('stream-consumer').tag('both').key('config');
    expect(await bench.raw.hget(config, 'group:g')).toBe('1');
  });

  it('what only a removed group had not settled is deleted down to the limits', async () => {
    const stream: Numbers = defineStream({ name: 'removed', retain: { count: 4 } });
    const idle = await still.streams.handle({ stream, group: 'idle' }, () => new Promise<void>(() => undefined));
    await still.streams.pause(stream, 'idle');
    await bench.streams.handle({ stream, group: 'g' }, () => undefined);
    await bench.streams.publishMany(stream, ofNumbers(0, 300));
    await settled(stream);
    expect(await kept(stream)).toHaveLength(300);
    const stopping = idle.stop();
    expect(await bench.streams.removeGroup(stream, 'idle')).toBe(true);
    expect(await kept(stream)).toEqual([296, 297, 298, 299]);
    await stopping;
  }, 30_000);

  it('without groups, nothing is deleted', async () => {
    const stream: Numbers = defineStream({ name: 'nobody', retain: { count: 2 } });
    await bench.streams.publishMany(stream, ofNumbers(0, 9));
    const handle = await bench.streams.handle({ stream, group: 'g' }, () => undefined);
    await eventually(async () => expect(await kept(stream)).toEqual([7, 8]));
    await handle.stop();
    await bench.streams.removeGroup(stream, 'g');
    await bench.streams.publishMany(stream, ofNumbers(9, 12));
    await sleep(200);
    expect(await kept(stream)).toEqual([7, 8, 9, 10, 11]);
  });

  it('a process without the option, or with smaller limits, deletes more, and never what is unsettled', async () => {
    const stream: Numbers = defineStream({ name: 'mixed', retain: { count: 50 } });
    const small: Numbers = defineStream({ name: 'mixed', retain: { count: 5 } });
    const gate = new Gate();
    await bench.streams.handle({ stream, group: 'g' }, ({ payload }) => (payload === 3 ? gate.pass() : undefined));
    await bench.streams.publishMany(stream, ofNumbers(0, 80));
    await eventually(async () => expect(await kept(stream)).toEqual([3, ...ofNumbers(30, 80).map((m) => m.payload)]));
    const other = await openBench(client(), { watchEveryMs: 50 }, { prefix: bench.prefix });
    await other.streams.handle({ stream: small, group: 'other' }, () => undefined);
    await eventually(async () => expect(await kept(stream)).toEqual([3, 75, 76, 77, 78, 79]));
    await other.close();
    await bench.streams.removeGroup(stream, 'other');
    const plain = await openBench(client(), { watchEveryMs: 50 }, { prefix: bench.prefix });
    await plain.streams.handle(group('mixed', 'plain'), () => undefined);
    await eventually(async () => expect(await kept(stream)).toEqual([3]));
    gate.open();
    await eventually(async () => expect(await kept(stream)).toEqual([]));
    await plain.close();
  });

  it('entries of another program are kept, too, with deleteAfter', async () => {
    const key = `${bench.prefix}-foreign`;
    const stream = defineStream({ name: 'foreign', keys: [key], deleteAfter: ['g'], retain: { count: 3 } });
    for (let i = 0; i < 8; i++) await bench.raw.xadd(key, '*', 'n', String(i));
    const seen: unknown[] = [];
    await bench.streams.handle(
      { stream, group: 'g', pollMs: 20 },
      ({ payload }: StreamMessage) => void seen.push(payload),
    );
    await eventually(() => expect(seen).toHaveLength(8));
    await eventually(async () => {
      const rows = await bench.raw.xrange(key, '-', '+');
      expect(rows.map(([, fields]) => fields[1])).toEqual(['5', '6', '7']);
    });
  });
});

it('a stream without the option runs no script that it did not run before', async () => {
  const bench = await openBench(standaloneClient(), { watchEveryMs: 20 });
  const watcher = await CommandWatcher.open(Number(new URL(sharedRedisUrl()).port));
  await bench.streams.handle(group('plain', 'g'), () => undefined);
  await bench.streams.publishMany('plain', ofNumbers(0, 50));
  await eventually(async () => expect((await bench.streams.stats('plain', 'g')).length).toBe(0));
  await sleep(100);
  const ours = watcher.commands.filter(({ args }) => args.some((arg) => arg.startsWith(bench.prefix)));
  expect(ours.length).toBeGreaterThan(0);
  expect(ours.map(({ args: [name] }) => name?.toUpperCase())).not.toContain('MEMORY');
  watcher.close();
  await bench.close();
});

it('keeps everything unsettled, and the limit, while processes die and the scripts are flushed', async () => {
  const client = clusterClient();
  const bench = await openBench(client, { partitions: 2, watchEveryMs: 30, leaseMs: 300, attempts: 1_000 });
  const stream: Numbers = defineStream({ name: 'chaos', partitions: 2, retain: { count: 20 } });
  const groups = ['a', 'b'];
  const done = new Map(groups.map((name) => [name, new Set<number>()]));
  const dead = new Set<Bench>();
  const published: number[] = [];
  const start = async (): Promise<Bench> => {
    const one = await openBench(
      clusterClient(),
      { watchEveryMs: 30, leaseMs: 300, attempts: 1_000 },
      { prefix: bench.prefix },
    );
    for (const name of groups) {
      await one.streams.handle({ stream, group: name, concurrency: 8 }, async ({ payload }) => {
        await sleep(Math.random() < 0.1 ? 150 : 2);
        if (Math.random() < 0.2) throw new Error('again');
        // The signal does not count: Redis takes the outcome if a renewal still comes in time.
        if (!dead.has(one)) done.get(name)?.add(payload);
      });
    }
    return one;
  };
  /** A message that a group has not handled must be in the stream: in its pending list, or not read yet. */
  const check = async (): Promise<void> => {
    const before = new Map(groups.map((name) => [name, new Set(done.get(name))]));
    const upTo = published.length;
    const there = new Set<number>();
    for (const partition of [0, 1]) {
      for (const [, fields] of await bench.raw.xrange(bench.keys('chaos', 'a', partition).stream, '-', '+')) {
        there.add(Number(fields[fields.indexOf('payload') + 1]));
      }
    }
    for (const name of groups) {
      const handled = new Set([...(before.get(name) ?? []), ...(done.get(name) ?? [])]);
      expect(published.slice(0, upTo).filter((n) => !handled.has(n) && !there.has(n))).toEqual([]);
    }
  };
  const processes = [await start(), await start()];
  const dying: Promise<void>[] = [];
  for (let round = 0; round < 12; round++) {
    const next = ofNumbers(round * 50, round * 50 + 50);
    await bench.streams.publishMany(stream, next);
    published.push(...next.map(({ payload }) => payload));
    await sleep(40);
    // A process that dies: its connection ends, and what its handlers do has no effect.
    if (round % 3 === 1) {
      const one = processes.shift() as Bench;
      dead.add(one);
      one.raw.disconnect();
      dying.push(one.close().catch(() => undefined));
      processes.push(await start());
    }
    if (round % 4 === 2) for (const node of client.nodes('master')) await node.script('FLUSH');
    await check();
  }
  for (const name of groups) await eventually(() => expect(done.get(name)?.size).toBe(600), { timeoutMs: 30_000 });
  await eventually(async () => {
    for (const name of groups) {
      expect(await bench.streams.stats(stream, name)).toMatchObject({ lag: 0, pending: 0, length: 40 });
    }
  });
  await Promise.all(dying);
  for (const one of processes) await one.close();
  await bench.close();
}, 90_000);
