import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { StreamConsumerEvents } from 'luanest/stream-consumer';
import { tagOf } from '../src/streams/partitions';
import { Gate } from '../../../test/support/gate';
import { eventually } from '../../../test/support/wait';
import { group, openBench, servers, type Bench } from './support';
import { few } from '../../../test/support/few';

describe.each(few(servers))('what changes while consumers run, on %s', (_, client) => {
  let few: Bench;
  let many: Bench;
  beforeAll(async () => {
    // A session without messages ends instead of being renewed, so its lease must last as long as a test on a busy machine.
    few = await openBench(client(), { partitions: 2, watchEveryMs: 100, stalledAfterMs: 200, leaseMs: 60_000 });
    many = await openBench(client(), { partitions: 7, watchEveryMs: 100 }, { prefix: few.prefix });
  });
  afterAll(() => Promise.all([few.close(), many.close()]));

  it('a publisher with more partitions than the consumer knows loses nothing, nor does one with less', async () => {
    const seen: unknown[] = [];
    const handle = await few.streams.handle(group('grows', 'g'), ({ payload }) => void seen.push(payload));
    await few.streams.publishMany(
      'grows',
      Array.from({ length: 20 }, (__, payload) => ({ payload })),
    );
    await many.streams.publishMany(
      'grows',
      // So many that each partition gets one: the messages have no key, so each goes to any partition.
      Array.from({ length: 200 }, (__, i) => ({ payload: 20 + i })),
    );
    await eventually(() => expect(seen).toHaveLength(220));
    await few.streams.publishMany(
      'grows',
      Array.from({ length: 20 }, (__, i) => ({ payload: 220 + i })),
    );
    await eventually(() => expect(new Set(seen).size).toBe(240));
    // Handled, and acknowledged a moment later.
    await eventually(async () =>
      expect(await handle.stats()).toMatchObject({ length: 0, pending: 0, lag: 0, sessions: 7 }),
    );
    await handle.stop();
  });

  it('has the numbers of each partition next to their sums', async () => {
    const { streams, raw } = many;
    const messages = Array.from({ length: 30 }, (__, i) => ({ payload: i, key: `k${i % 3}` }));
    await streams.publishMany('parts', messages);
    const { partitions, ...sums } = await streams.stats('parts', 'g');
    const lengths = await Promise.all(partitions.map((__, index) => raw.xlen(many.keys('parts', 'g', index).stream)));
    expect(lengths).toHaveLength(7);
    expect(partitions.map(({ length }) => length)).toEqual(lengths);
    expect(partitions.map(({ lag }) => lag)).toEqual(lengths);
    expect(partitions.map(({ oldestMs }) => oldestMs !== undefined)).toEqual(lengths.map((length) => length > 0));
    expect(sums).toMatchObject({ length: 30, lag: 30, pending: 0, paused: false });
  });

  it('a consumer that stands still is seen: pending, lag and age, in the service and as events', async () => {
    const events: [string, StreamConsumerEvents['groupMeasured']][] = [];
    const listener = (event: unknown, name: string | symbol): void =>
      void events.push([String(name), event as StreamConsumerEvents['groupMeasured']]);
    const { groupMeasured: stats, groupStalled: stalled } = StreamConsumerEvents;
    for (const channel of [stats, stalled]) subscribe(channel, listener);
    const gate = new Gate();
    await few.streams.publishMany(
      'stands',
      Array.from({ length: 10 }, (__, payload) => ({ payload })),
    );
    expect(await few.streams.stats('stands', 'g')).toMatchObject({ length: 10, lag: 10, pending: 0, sessions: 0 });
    const handle = await few.streams.handle(group('stands', 'g', { concurrency: 3 }), () => gate.pass());
    await eventually(() =>
      expect(events.some(([name, { stream }]) => name === stalled && stream === 'stands')).toBe(true),
    );
    const seen = await eventually(async () => {
      const now = await few.streams.stats('stands', 'g');
      expect(now).toMatchObject({ length: 10, pending: 3, lag: 7, due: 0, parked: 0, dead: 0, sessions: 2 });
      return now;
    });
    expect(seen.oldestMs).toBeGreaterThanOrEqual(200);
    expect(handle.running).toBe(3);
    await eventually(() => {
      gate.open();
      expect(gate.entered).toBe(10);
    });
    gate.open();
    await eventually(async () => expect(await handle.stats()).toMatchObject({ pending: 0, oldestMs: undefined }));
    for (const channel of [stats, stalled]) unsubscribe(channel, listener);
    await handle.stop();
  });
});

it('partitions keep their places when there are more of them, and no two share a tag', () => {
  const tags = Array.from({ length: 200 }, (_, i) => tagOf('orders', i));
  expect(new Set(tags).size).toBe(200);
  expect(tagOf('orders', 5)).toBe(tags[5]);
});
