import { Redis } from 'ioredis';
import { defineStream } from 'luanest/stream-consumer';
import { startRedis } from 'luanest/testing/servers';
import { eventually } from '../../../test/support/wait';
import { openBench, servers, type Bench } from '../../stream-consumer/test/support';
import type { Section } from '../src/console.types';
import { streamsSection } from '../src/sections/streams';
import { act, allRows, countOfFix, factsOf, figuresOf, rowsOf, sectionOf } from './section-support';

const never = (): Promise<void> => new Promise(() => undefined);
const fails = (): never => {
  throw new Error('no such card');
};

describe.each(servers)('the section of streams on %s', (_, connect) => {
  let bench: Bench;
  let section: Section;
  const orders = defineStream<number>({ name: 'orders', partitions: 2 });
  const open = async (options: object = {}): Promise<void> => {
    bench = await openBench(connect(), { drainMs: 1, abortGraceMs: 1, attempts: 1, ...options });
    section = sectionOf(streamsSection, { StreamConsumerService: bench.streams });
  };
  const story = (list: string, ...names: string[]) => factsOf(section, ['streams', list, ...names]);
  const publish = async (payload: number, key?: string): Promise<string> => {
    const result = await bench.streams.publish(orders, payload, key === undefined ? {} : { key });
    return result.status === 'published' ? result.id : '';
  };
  const handle = (group: string, handler: () => unknown, options: object = {}) =>
    bench.streams.handle({ stream: orders, group, attempts: 1, ...options }, handler as never);

  afterEach(() => bench.close());

  it('lists streams of this process and of others, and creates none by looking', async () => {
    await open();
    for (const name of ['a', 'b', 'c']) await bench.streams.publish(name, 1);
    for (const name of ['b', 'c']) bench.streams.forgetStream(name);
    const rows = await allRows(section, ['streams', 'streams'], 1);
    expect(rows.map(({ stream }) => stream).sort()).toEqual(['a', 'b', 'c']);
    expect(rows[0]).toMatchObject({ stream: 'a', groups: 0, lag: 0, dead: 0 });
    expect(await section.show(['streams', 'streams', 'unknown'])).toBeUndefined();
    expect(await section.find('unknown')).toEqual([]);
    expect(await section.find('b')).toEqual([{ address: ['streams', 'streams', 'b'], kind: 'stream', title: 'b' }]);
    expect(await allRows(section, ['streams', 'streams'])).toHaveLength(3);
    await expect(section.list(['streams', 'others'], { limit: 1 })).rejects.toThrow('nothing at "streams/others"');
  });

  it('says what a group has done with a message: held, settled, or not read', async () => {
    await open();
    const one = await handle('mail', () => undefined);
    const other = await handle('audit', never);
    const id = await publish(7, 'k');
    await eventually(async () =>
      expect(await story('messages', 'orders', id)).toMatchObject({
        ...{ stream: 'orders', key: 'k', payload: { payload: 7 } },
        codes: expect.arrayContaining(['message-settled', 'message-held']) as string[],
      }),
    );
    expect(await section.find(id)).toMatchObject([
      { address: ['streams', 'messages', 'orders', id], kind: 'message', sentence: { code: 'message-held' } },
    ]);
    expect(await story('groups', 'orders', 'audit')).toMatchObject({
      ...{ pending: 1, lag: 0, leases: 1, processes: 1, codes: ['stream-group-well'], actions: ['pause'] },
    });
    const consumers = rowsOf(await section.list(['streams', 'groups', 'orders', 'audit', 'consumers'], { limit: 9 }));
    expect(consumers).toEqual([
      expect.objectContaining({ consumer: expect.stringContaining(`:${process.pid}:`) as string, pending: 1 }),
    ]);
    expect(await figuresOf(section)).toMatchObject({ streams: 1, groups: 2, pending: 1, lag: 0, dead: 0, codes: [] });
    await Promise.all([one.stop(), other.stop()]);
  });

  it('says that a group is paused, resumes it, and says that nobody reads', async () => {
    await open();
    await (await handle('mail', () => undefined)).stop();
    const id = await publish(1);
    await eventually(async () =>
      expect(await story('groups', 'orders', 'mail')).toMatchObject({ lag: 1, codes: ['stream-no-consumer'] }),
    );
    expect(await story('messages', 'orders', id)).toMatchObject({ codes: ['message-unread'] });
    const address = ['streams', 'groups', 'orders', 'mail'];
    expect(await act(section, 'pause', address)).toEqual({ count: 1 });
    expect(await factsOf(section, address)).toMatchObject({
      ...{ paused: true, codes: ['stream-group-paused'], actions: ['resume'] },
    });
    expect(await story('messages', 'orders', id)).toMatchObject({ codes: ['message-group-paused'] });
    expect(await allRows(section, ['streams', 'groups'], 5, 'stream:orders')).toMatchObject([
      { group: 'mail', stream: 'orders', lag: 1, paused: true },
    ]);
    expect(await act(section, 'resume', address)).toEqual({ count: 1 });
    expect(await factsOf(section, address)).toMatchObject({ paused: false });
  });

  it('lists dead letters, and replays and drops them: one, or all of a group', async () => {
    await open();
    const consumer = await handle('mail', fails);
    const ids = [await publish(1, 'a'), await publish(2, 'b'), await publish(3, 'c'), await publish(4, 'd')];
    const dead = (filter?: string) => allRows(section, ['streams', 'dead'], 2, filter);
    await eventually(async () => expect(await dead()).toHaveLength(4));
    await consumer.stop();
    const rows = await dead('stream:orders group:mail');
    expect(rows[0]).toMatchObject({ error: expect.stringContaining('no such card') as string, attemptsMade: 1 });
    expect(await dead('stream:orders group:other')).toEqual([]);
    expect(await story('messages', 'orders', ids[0] as string)).toMatchObject({ codes: ['message-dead'] });
    const ofMessage = await section.show(['streams', 'messages', 'orders', ids[0] as string]);
    expect(await countOfFix(section, ofMessage?.sentences)).toBe(1);
    expect(await story('groups', 'orders', 'mail')).toMatchObject({ dead: 4, codes: ['stream-group-has-dead'] });
    const ofGroup = await section.show(['streams', 'groups', 'orders', 'mail']);
    expect(await countOfFix(section, ofGroup?.sentences)).toBe(4);
    const [first, second] = rows.map(({ id }) => ['streams', 'dead', 'orders', 'mail', String(id)]);
    expect(await factsOf(section, first as string[])).toMatchObject({
      codes: ['message-dead'],
      actions: ['replay', 'drop'],
    });
    expect(await act(section, 'replay', first as string[])).toEqual({ count: 1 });
    expect(await act(section, 'drop', second as string[])).toEqual({ count: 1 });
    expect(await act(section, 'drop', second as string[])).toMatchObject({ refused: { code: 'dead-letter-gone' } });
    expect((await bench.streams.stats(orders, 'mail')).lag).toBe(1);
    const target = { list: ['streams', 'dead'], filter: 'stream:orders group:mail' };
    expect(await section.preview('drop', target, {})).toMatchObject({ count: 2, more: false });
    expect(await section.run('drop', target, {}, undefined)).toEqual({ count: 2 });
    expect(await dead()).toEqual([]);
    await expect(section.run('drop', { list: ['streams', 'dead'] }, {}, undefined)).rejects.toThrow('of one group');
    await expect(section.run('pause', target, {}, undefined)).rejects.toThrow('for one thing');
  });

  it('says that a message waits for a retry, or behind another one of its key', async () => {
    await open();
    const options = { ordered: true, attempts: 3, backoff: { delayMs: 3_600_000, maxDelayMs: 3_600_000 } };
    const consumer = await handle('mail', fails, options);
    const [first, second] = [await publish(1, 'a'), await publish(2, 'a')];
    await eventually(async () =>
      expect(await story('messages', 'orders', first)).toMatchObject({ codes: ['message-waits-for-retry'] }),
    );
    await eventually(async () =>
      expect(await story('messages', 'orders', second)).toMatchObject({ codes: ['message-parked'] }),
    );
    expect(await story('groups', 'orders', 'mail')).toMatchObject({ parked: 1, due: 1 });
    expect(
      rowsOf(await section.list(['streams', 'groups', 'orders', 'mail', 'partitions'], { limit: 9 })),
    ).toHaveLength(2);
    await consumer.stop();
  });

  it('shows a stream that another program writes', async () => {
    await open();
    const key = `${bench.prefix}:theirs`;
    const theirs = defineStream({ name: 'theirs', keys: [key] });
    const entry = (await bench.raw.xadd(key, '*', 'card', '4711')) as string;
    const consumer = await bench.streams.handle({ stream: theirs, group: 'mail', pollMs: 50 }, never);
    const id = `0:${entry}`;
    await eventually(async () =>
      expect(await story('messages', 'theirs', id)).toMatchObject({
        ...{ payload: { payload: { card: '4711' } }, codes: ['message-held'] },
      }),
    );
    expect(await story('groups', 'theirs', 'mail')).toMatchObject({ length: 1, pending: 1 });
    await consumer.stop();
  });
});

it('finds a message of another process among many other keys, and says when it did not search all', async () => {
  await using server = await startRedis();
  const client = new Redis(server.port);
  const bench = await openBench(client, { drainMs: 1, abortGraceMs: 1 });
  const section = sectionOf(streamsSection, { StreamConsumerService: bench.streams });
  const fill = (from: number, to: number) =>
    client.mset(Array.from({ length: to - from }, (_, i) => [`other:${from + i}`, '1']).flat());
  const deadSentences = async () => (await section.list(['streams', 'dead'], { limit: 5 })).sentences;
  for (let from = 0; from < 60_000; from += 20_000) await fill(from, from + 20_000);
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c', 'd']) {
    const result = await bench.streams.publish(name, 1);
    ids.push(result.status === 'published' ? result.id : '');
    bench.streams.forgetStream(name);
  }
  const found = await Promise.all(ids.map((id) => section.find(id)));
  expect(found.flat().map(({ address }) => address[2])).toEqual(expect.arrayContaining(['a', 'b', 'c', 'd']));
  expect((await deadSentences()) ?? []).toEqual([]);
  for (let from = 60_000; from < 300_000; from += 20_000) await fill(from, from + 20_000);
  expect(await section.find('0:1-1')).toMatchObject([
    { address: ['streams', 'streams'], title: '0:1-1', sentence: { code: 'streams-searched-in-part' } },
  ]);
  expect(await deadSentences()).toMatchObject([{ code: 'streams-searched-in-part' }]);
  await bench.close();
});
