// Operators and other programs that change a stream or a group by hand.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ConsoleLogger, Logger } from '@nestjs/common';
import { Gate } from '../../../test/support/gate';
import { eventually } from '../../../test/support/wait';
import { idleChecksOf } from '../../internal/src';
import { StreamConsumerEvents } from '../src';
import { define, group, openBench, servers, type Bench } from './support';
import { few } from '../../../test/support/few';

const HOUR = 3_600_000;
const SLOW = { backoff: { delayMs: HOUR, maxDelayMs: HOUR }, leaseMs: HOUR };
type Damage = StreamConsumerEvents['groupDamaged'];

describe.each(few(servers))('when others change a group, on %s', (_, client) => {
  let bench: Bench;
  let other: Bench;
  let count = 0;
  let damage: Damage[] = [];
  let lines: string[] = [];
  const note = (event: unknown): void => void damage.push(event as Damage);
  beforeAll(async () => {
    bench = await openBench(client());
    other = await openBench(client(), {}, { prefix: bench.prefix });
  });
  beforeEach(() => {
    damage = [];
    lines = [];
    subscribe(StreamConsumerEvents.groupDamaged, note);
    Logger.overrideLogger({
      ...new ConsoleLogger({ logLevels: [] }),
      log: () => undefined,
      error: () => undefined,
      warn: (line: string) => void (line.includes('Another client') && lines.push(line)),
    });
  });
  afterEach(() => {
    unsubscribe(StreamConsumerEvents.groupDamaged, note);
    Logger.overrideLogger(new ConsoleLogger({ logLevels: [] }));
  });
  afterAll(() => Promise.all([bench.close(), other.close()]));

  const fresh = (): string => `s${(count += 1)}`;
  /** Deletes all consumers of the group, as Redis' documents advise for idle ones. Returns how many entries they had. */
  async function tidyUp(stream: string, name = 'g'): Promise<number> {
    const key = bench.keys(stream, name).stream;
    const consumers = (await bench.raw.call('XINFO', 'CONSUMERS', key, name)) as string[][];
    let removed = 0;
    for (const row of consumers) {
      removed += (await bench.raw.call('XGROUP', 'DELCONSUMER', key, name, row[1] as string)) as number;
    }
    return removed;
  }
  const check = (): Promise<void> => idleChecksOf(bench.registry).checkAll();
  const settled = (stream: string, name = 'g'): Promise<void> =>
    eventually(async () =>
      expect(await bench.streams.stats(stream, name)).toMatchObject({
        length: 0,
        pending: 0,
        lag: 0,
        due: 0,
        parked: 0,
      }),
    );

  it('a message that waits for a retry is delivered again, and reported once', async () => {
    const stream = fresh();
    const attempts: number[] = [];
    let fails = true;
    const handle = await bench.streams.handle(group(stream, 'g', SLOW), ({ attempt }) => {
      attempts.push(attempt);
      if (fails) throw new Error('not now');
    });
    await bench.streams.publish(stream, 1);
    await eventually(async () => expect(await bench.streams.stats(stream, 'g')).toMatchObject({ due: 1 }));
    expect(await tidyUp(stream)).toBe(1);
    expect(await bench.streams.stats(stream, 'g')).toMatchObject({ length: 1, pending: 1 });
    await check();
    await check();
    expect(damage).toEqual([{ stream, group: 'g', restored: 1, deleted: 0 }]);
    expect(lines).toEqual([
      `Stream ${stream}, group g: Another client of Redis removed 1 message(s) from the pending list (as XGROUP DELCONSUMER does), which are delivered again. Find the program that changes this stream, and stop it.`,
    ]);
    // It still waits for its time.
    expect(await bench.streams.stats(stream, 'g')).toMatchObject({ due: 1 });
    expect(attempts).toEqual([1]);
    fails = false;
    const { due } = bench.keys(stream, 'g');
    await bench.raw.zadd(due, 'XX', '1', (await bench.raw.zrange(due, '0', '-1'))[0] as string);
    await check();
    await settled(stream);
    expect(attempts).toEqual([1, 2]);
    await handle.stop();
  });

  it('with order by key, the messages that are parked are delivered in their order', async () => {
    const stream = fresh();
    const seen: unknown[] = [];
    const gate = new Gate();
    const handle = await bench.streams.handle(group(stream, 'g', { ordered: true, leaseMs: HOUR }), async (message) => {
      if (message.payload === 0) await gate.pass();
      seen.push(message.payload);
    });
    for (let i = 0; i < 20; i++) await bench.streams.publish(stream, i, { key: 'k' });
    await eventually(async () => expect(await handle.stats()).toMatchObject({ pending: 20, parked: 19 }));
    expect(await tidyUp(stream)).toBe(20);
    await check();
    expect(damage).toEqual([{ stream, group: 'g', restored: 20, deleted: 0 }]);
    gate.open();
    await settled(stream);
    expect(seen).toEqual(Array.from({ length: 20 }, (__, i) => i));
    await handle.stop();
  });

  it('parked messages are not lost if the first of their key ends before the check', async () => {
    const stream = fresh();
    const seen: unknown[] = [];
    const gate = new Gate();
    const handle = await bench.streams.handle(group(stream, 'g', { ordered: true, leaseMs: HOUR }), async (message) => {
      if (message.payload === 0) await gate.pass();
      seen.push(message.payload);
    });
    for (let i = 0; i < 20; i++) await bench.streams.publish(stream, i, { key: 'k' });
    await eventually(async () => expect(await handle.stats()).toMatchObject({ pending: 20, parked: 19 }));
    await tidyUp(stream);
    gate.open();
    await eventually(() => expect(seen).toHaveLength(1));
    await eventually(async () => expect(await handle.stats()).toMatchObject({ length: 19, pending: 19 }));
    await check();
    expect(damage).toEqual([{ stream, group: 'g', restored: 19, deleted: 0 }]);
    await settled(stream);
    expect([...seen].sort((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: 20 }, (__, i) => i));
    await handle.stop();
  });

  it('a message whose handler runs stays with its consumer, also at a check of another process', async () => {
    const stream = fresh();
    let runs = 0;
    const gate = new Gate();
    const slow = async (): Promise<void> => {
      runs += 1;
      await gate.pass();
    };
    const mine = await bench.streams.handle(group(stream, 'g', { leaseMs: HOUR }), slow);
    await bench.streams.publish(stream, 1);
    await eventually(() => expect(runs).toBe(1));
    const theirs = await other.streams.handle(group(stream, 'g', { leaseMs: HOUR }), slow);
    expect(await tidyUp(stream)).toBe(1);
    await idleChecksOf(other.registry).checkAll();
    await check();
    expect(damage).toEqual([{ stream, group: 'g', restored: 1, deleted: 0 }]);
    expect(runs).toBe(1);
    gate.open();
    await settled(stream);
    expect(runs).toBe(1);
    await Promise.all([mine.stop(), theirs.stop()]);
  });

  it('a message of a process that died is taken over', async () => {
    const stream = fresh();
    const dying = await openBench(client(), { drainMs: 0, abortGraceMs: 0 }, { prefix: bench.prefix });
    let begun = false;
    await dying.streams.handle(group(stream, 'g', { leaseMs: 1_000 }), () => {
      begun = true;
      return new Promise(() => undefined);
    });
    await bench.streams.publish(stream, 1);
    await eventually(() => expect(begun).toBe(true));
    dying.registry.close();
    const seen: unknown[] = [];
    expect(await tidyUp(stream)).toBe(1);
    const handle = await bench.streams.handle(
      group(stream, 'g', { leaseMs: 1_000 }),
      ({ payload }) => void seen.push(payload),
    );
    await eventually(async () => {
      await check();
      expect(seen).toEqual([1]);
    });
    await settled(stream);
    await handle.stop();
    await dying.close();
  });

  it('two processes that check at once restore and report each message once', async () => {
    const stream = fresh();
    const seen: unknown[] = [];
    let fails = true;
    const options = group(stream, 'g', SLOW);
    const handler = ({ payload }: { payload: unknown }): void => {
      if (fails) throw new Error('not now');
      seen.push(payload);
    };
    const handles = await Promise.all([bench, other].map(({ streams }) => streams.handle(options, handler)));
    for (let i = 0; i < 50; i++) await bench.streams.publish(stream, i);
    await eventually(async () => expect(await bench.streams.stats(stream, 'g')).toMatchObject({ due: 50 }));
    expect(await tidyUp(stream)).toBe(50);
    fails = false;
    const { due } = bench.keys(stream, 'g');
    for (const id of await bench.raw.zrange(due, '0', '-1')) await bench.raw.zadd(due, 'XX', '1', id);
    await Promise.all([check(), idleChecksOf(other.registry).checkAll()]);
    await settled(stream);
    expect(damage.reduce((sum, { restored }) => sum + restored, 0)).toBe(50);
    expect(seen).toHaveLength(50);
    expect(new Set(seen).size).toBe(50);
    await Promise.all(handles.map((handle) => handle.stop()));
  });

  it('another group that settles a message, and the purge, leave what this group has lost', async () => {
    const stream = fresh();
    const seen: unknown[] = [];
    let fails = true;
    const mine = await bench.streams.handle(group(stream, 'g', SLOW), ({ payload }) => {
      if (fails) throw new Error('not now');
      seen.push(payload);
    });
    const gate = new Gate();
    const theirs = await other.streams.handle(group(stream, 'h', { leaseMs: HOUR }), () => gate.pass());
    await bench.streams.publish(stream, 1);
    await eventually(async () => expect(await bench.streams.stats(stream, 'g')).toMatchObject({ due: 1 }));
    expect(await tidyUp(stream)).toBe(1);
    gate.open();
    await eventually(async () => expect(await bench.streams.stats(stream, 'h')).toMatchObject({ pending: 0, lag: 0 }));
    await idleChecksOf(other.registry).checkAll();
    expect(await bench.raw.xlen(bench.keys(stream, 'g').stream)).toBe(1);
    fails = false;
    await check();
    const { due } = bench.keys(stream, 'g');
    await bench.raw.zadd(due, 'XX', '1', (await bench.raw.zrange(due, '0', '-1'))[0] as string);
    await check();
    await settled(stream);
    expect(seen).toEqual([1]);
    await Promise.all([mine.stop(), theirs.stop()]);
  });

  it('reports messages that others deleted before they were handled', async () => {
    const stream = fresh();
    const handle = await bench.streams.handle(group(stream, 'g', SLOW), () => {
      throw new Error('not now');
    });
    for (let i = 0; i < 3; i++) await bench.streams.publish(stream, i);
    await eventually(async () => expect(await bench.streams.stats(stream, 'g')).toMatchObject({ due: 3 }));
    const key = bench.keys(stream, 'g').stream;
    await bench.raw.xtrim(key, 'MAXLEN', 1);
    await check();
    await check();
    expect(damage).toEqual([{ stream, group: 'g', restored: 0, deleted: 2 }]);
    expect(lines).toEqual([
      `Stream ${stream}, group g: Another client of Redis deleted 2 message(s) before they were handled (as XDEL and XTRIM do), which are lost for this group. Find the program that changes this stream, and stop it.`,
    ]);
    expect(await handle.stats()).toMatchObject({ length: 1, pending: 1, due: 1 });
    await handle.stop();
  });

  it.each([undefined, ['g']])(
    'a stream with keys (deleteAfter: %s): restores what waits, and nothing that was settled or trimmed',
    async (deleteAfter) => {
      const name = fresh();
      const key = `${bench.prefix}:{foreign-${name}}:rows`;
      define(bench.streams, { name, keys: [key], ...(deleteAfter && { deleteAfter }) });
      const seen: string[] = [];
      let fails = true;
      const handle = await bench.streams.handle(group(name, 'g', { ...SLOW, pollMs: 50 }), ({ payload }) => {
        const { n = '' } = payload as Record<string, string>;
        seen.push(n);
        if (fails && Number(n) >= 10) throw new Error('not now');
      });
      for (let n = 0; n < 20; n++) await bench.raw.xadd(key, '*', 'n', n);
      await eventually(async () => expect(await handle.stats()).toMatchObject({ due: 10, lag: 0, pending: 10 }));
      // Its program trims the stream: the rows from 15 are left.
      await bench.raw.xtrim(key, 'MAXLEN', 5);
      const consumers = (await bench.raw.call('XINFO', 'CONSUMERS', key, 'g')) as string[][];
      for (const row of consumers) await bench.raw.call('XGROUP', 'DELCONSUMER', key, 'g', row[1] as string);
      fails = false;
      await check();
      await check();
      expect(damage).toEqual([{ stream: name, group: 'g', restored: 5, deleted: 0 }]);
      const notes = bench.registry.keySpace('stream-consumer').sameSlotAs(key);
      const due = notes.key('due', 'g', key);
      for (const id of await bench.raw.zrange(due, '0', '-1')) await bench.raw.zadd(due, 'XX', '1', id);
      await eventually(async () => expect(await handle.stats()).toMatchObject({ due: 0, pending: 0, lag: 0 }));
      const counts = seen.reduce<Record<string, number>>((all, n) => ({ ...all, [n]: (all[n] ?? 0) + 1 }), {});
      expect(counts).toEqual(Object.fromEntries(Array.from({ length: 20 }, (__, n) => [n, n < 15 ? 1 : 2])));
      await check();
      expect(damage).toHaveLength(1);
      await handle.stop();
    },
  );

  it('a group that was destroyed is created again, and handles what is still in the stream', async () => {
    const stream = fresh();
    const seen: unknown[] = [];
    let fails = true;
    const handle = await bench.streams.handle(group(stream, 'g', SLOW), ({ payload }) => {
      if (fails) throw new Error('not now');
      seen.push(payload);
    });
    for (let i = 0; i < 3; i++) await bench.streams.publish(stream, i);
    await eventually(async () => expect(await bench.streams.stats(stream, 'g')).toMatchObject({ due: 3 }));
    fails = false;
    await bench.raw.call('XGROUP', 'DESTROY', bench.keys(stream, 'g').stream, 'g');
    await check();
    await settled(stream);
    expect(seen.sort()).toEqual([0, 1, 2]);
    await handle.stop();
  });
});
