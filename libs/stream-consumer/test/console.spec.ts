import { CONSOLE } from '../../internal/src';
import { eventually } from '../../../test/support/wait';
import { openBench, servers, type Bench } from './support';

const never = (): Promise<void> => new Promise(() => undefined);

describe.each(servers)('what the console reads of a stream on %s', (_, connect) => {
  let bench: Bench;
  const open = async (name: string) => {
    const stream = await bench.streams[CONSOLE]().open(name);
    if (stream === undefined) throw new Error(`no stream ${name}`);
    return stream;
  };
  const publish = async (payload: number): Promise<string> => {
    const result = await bench.streams.publish('s', payload);
    return result.status === 'published' ? result.id : '';
  };

  beforeEach(async () => {
    bench = await openBench(connect(), { drainMs: 1, abortGraceMs: 1, partitions: 2 });
  });
  afterEach(() => bench.close());

  it('stores nothing, and does not remember the stream', async () => {
    await publish(1);
    bench.streams.forgetStream('s');
    const before = await bench.raw.hgetall(`${bench.prefix}:stream-consumer:{s}:config`);
    expect((await (await open('s')).all()).map(({ index }) => index)).toEqual([0, 1]);
    expect(await bench.streams[CONSOLE]().open('unknown')).toBeUndefined();
    expect(await bench.streams[CONSOLE]().open('no stream has spaces')).toBeUndefined();
    expect(await bench.raw.exists(`${bench.prefix}:stream-consumer:{unknown}:config`)).toBe(0);
    expect(await bench.raw.hgetall(`${bench.prefix}:stream-consumer:{s}:config`)).toEqual(before);
    expect(bench.streams[CONSOLE]().known).toEqual([]);
  });

  it('lists the groups with those that are paused, and counts as stats does', async () => {
    await bench.streams.handle({ stream: 's', group: 'one' }, never);
    await (await bench.streams.handle({ stream: 's', group: 'two' }, never)).stop();
    await bench.streams.pause('s', 'two');
    for (let i = 0; i < 5; i++) await publish(i);
    const stream = await open('s');
    expect(stream.groupNames.toSorted()).toEqual(['one', 'two']);
    expect(stream.pausedNames).toEqual(['two']);
    await eventually(async () => expect((await bench.streams.stats('s', 'one')).pending).toBe(5));
    const { partitions } = await bench.streams.stats('s', 'two');
    const found = await stream.statsOf('two');
    expect(found.map(({ lag, pending }) => ({ lag, pending }))).toEqual(
      partitions.map(({ lag, pending }) => ({ lag, pending })),
    );
  });

  it('lists who has messages, with the lease and their number', async () => {
    await bench.streams.handle({ stream: 's', group: 'one' }, never);
    for (let i = 0; i < 5; i++) await publish(i);
    await eventually(async () => {
      const parts = await (await open('s')).consumersOf('one');
      expect(parts.map(({ listeners }) => listeners)).toEqual([1, 1]);
      const all = parts.flatMap(({ consumers }) => consumers);
      expect(all.reduce((sum, { pending }) => sum + pending, 0)).toBe(5);
      for (const { leaseEndsAtMs } of all) expect(leaseEndsAtMs).toBeGreaterThan(parts[0]?.nowMs ?? Infinity);
    });
  });

  it('finds a dead letter by its own id, and by that of its message', async () => {
    const handler = (): never => {
      throw new Error('on purpose');
    };
    const consumer = await bench.streams.handle({ stream: 's', group: 'one', attempts: 1 }, handler);
    const id = await publish(7);
    const dead = () => bench.streams.deadLetters('s', 'one');
    await eventually(async () => expect((await dead()).items).toHaveLength(1));
    await consumer.stop();
    const [letter] = (await dead()).items;
    const stream = await open('s');
    for (const one of [id, letter?.id ?? '']) {
      expect(await stream.find(one)).toMatchObject([
        { group: 'one', state: 'dead', attempts: 1, error: expect.stringContaining('on purpose') as string },
      ]);
    }
    expect((await stream.find(id))[0]?.fields).toEqual(['payload', '7']);
    expect(await stream.find('0:1-1')).toMatchObject([{ group: 'one', state: '' }]);
    for (const wrong of ['1', '9:1-1', '0:99999999999999999999-1', 'x:1-1'])
      expect(await stream.find(wrong)).toEqual([]);
  });
});
