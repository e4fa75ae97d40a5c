import { streamConsumerScripts } from '../src/stream-consumer.scripts';
import { findMessage, listConsumers, readConfig } from '../src/streams/streams.scripts';
import type { TakeAnswer } from '../src/consumer/consumer.scripts';
import { REPLAYS, type Replays } from '../../../test/support/replays';
import { openBench, type Bench } from './support';
import { Hands } from './hands';

/** Every script, by hand, run twice with the same arguments. */
describe.each(REPLAYS)('%s', (_how, start) => {
  let replays: Replays<Bench>;
  let direct: Bench;
  let lossy: Bench;
  beforeAll(async () => {
    replays = await start((client) => openBench(client, {}, { prefix: 'replays', deadlineMs: 10_000 }));
    ({ direct, replayed: lossy } = replays);
  });
  beforeEach(() => replays.clear());
  afterAll(() => replays.close());

  const cutting = <T>(work: () => Promise<T>): Promise<T> => replays.twice(work);

  const hands = (ordered = false, foreign = false): { near: Hands; far: Hands } => ({
    near: new Hands(direct, 's', 'g', ordered, undefined, foreign),
    far: new Hands(lossy, 's', 'g', ordered, undefined, foreign),
  });
  const ids = ({ entries }: TakeAnswer): string[] => entries.map(({ id }) => id);

  it('of publish: there is one message, with and without an operation id', async () => {
    await lossy.streams.publish('s', 'first');
    const named = await cutting(() => lossy.streams.publish('s', 1, { operationId: 'o' }));
    const plain = await cutting(() => lossy.streams.publish('s', 2));
    const stored = await direct.raw.xrange(direct.keys('s', 'g').stream, '-', '+');
    expect(stored).toHaveLength(3);
    expect(stored.slice(1).map(([id]) => `0:${id}`)).toEqual(
      [named, plain].map((result) => (result as { id: string }).id),
    );
  });

  it.each([
    [false, false],
    [true, false],
    [false, true],
    [true, true],
  ])('of a take, ordered %s, foreign %s: the same entries are given, and no others', async (ordered, foreign) => {
    const { near, far } = hands(ordered, foreign);
    const published = await near.publish(6, ordered ? 'k' : undefined);
    await near.open();
    const taken = await cutting(() => far.take('one', 't1', 2));
    expect(ids(taken)).toEqual(published.slice(0, ordered ? 1 : 2));
    expect(await near.take('one', 't1', 2)).toEqual({
      ...taken,
      dueInMs: expect.any(Number),
      endInMs: expect.any(Number),
      more: true,
      entries: taken.entries.map((entry) => ({
        ...entry,
        firstSeenMs: expect.any(Number),
        takenMs: expect.any(Number),
      })),
    });
    expect(await near.owners()).toEqual(new Map(ids(taken).map((id) => [id, 'one'])));
    // A retried one is given again with its attempt.
    await near.retry('one', taken.entries[0] as never, 0);
    const again = await cutting(() => far.take('one', 't2', 1));
    expect(again.entries).toMatchObject([{ id: taken.entries[0]?.id, attempt: 2 }]);
    expect(String(again.entries[0]?.payload)).toBe(
      foreign ? `7:payload1:0${ordered ? '3:key1:k9:operation0:' : ''}` : '0',
    );
  });

  it.each([
    [false, false],
    [true, false],
    [false, true],
    [true, true],
  ])('of a take after a later take, ordered %s, foreign %s: nothing is given or noted', async (ordered, foreign) => {
    const { near } = hands(ordered, foreign);
    const published = await near.publish(6);
    await near.open();
    // Tokens are numbers in base 36.
    const later = await near.take('one', '10', 2);
    expect(await near.take('one', 'z', 2)).toMatchObject({ state: 'taken', entries: [] });
    expect(ids(later)).toEqual(published.slice(0, 2));
    expect(ids(await near.take('one', '10', 2))).toEqual(published.slice(0, 2));
    expect(ids(await near.take('one', '11', 2))).toEqual(published.slice(2, 4));
  });

  it('of an acknowledge: they are settled, and no others', async () => {
    const { near, far } = hands();
    const published = await near.publish(3);
    await near.open();
    const { entries } = await near.take('one', 't', 2);
    expect(await cutting(() => far.ack('one', entries))).toBe(true);
    expect(await near.ids()).toEqual(published.slice(2));
  });

  it.each(['', 'broken'])(
    'of finish with the error "%s": one dead letter at most, and the next of the key is let go once',
    async (problem) => {
      const { near, far } = hands(true);
      await near.publish(3, 'k');
      await near.open();
      const { entries } = await near.take('one', 't', 3);
      expect(entries).toHaveLength(1);
      expect((await cutting(() => far.finish('one', entries, problem))).alive).toBe(true);
      expect(await direct.raw.xlen(near.keys.dead)).toBe(problem === '' ? 0 : 1);
      expect(await near.parked()).toHaveLength(1);
      const next = await near.take('one', 't2', 3);
      expect(next.entries).toMatchObject([{ payload: '1', attempt: 1 }]);
    },
  );

  it('of a retry: it is put back once, also when it was taken again meanwhile', async () => {
    const { near, far } = hands();
    await near.publish(1);
    await near.open();
    const [entry] = (await near.take('one', 't', 1)).entries;
    expect(await cutting(() => far.retry('one', entry as never, 0))).toBe(true);
    const again = await near.take('one', 't2', 1);
    expect(again.entries).toMatchObject([{ attempt: 2 }]);
    // A replay that comes late finds the second attempt of the same session, and leaves it alone.
    expect(await near.retry('one', entry as never, 0)).toBe(true);
    expect(await near.owners()).toEqual(new Map([[entry?.id, 'one']]));
    expect(await direct.raw.zcard(near.keys.due)).toBe(0);
  });

  it('of open, renew, sweep, repair, leave and announce: nothing happens twice', async () => {
    const { near, far } = hands();
    await near.publish(3);
    await cutting(() => far.open());
    const { entries } = await near.take('one', 't', 3);
    expect(await cutting(() => far.renew('one'))).toBe(true);
    await near.expire('one');
    await cutting(() => far.sweep());
    const again = await near.take('two', 't', 3);
    expect(again.entries.map(({ id, attempt }) => [id, attempt])).toEqual(entries.map(({ id }) => [id, 2]));
    expect(await cutting(() => far.renew('one'))).toBe(false);
    await cutting(() => far.repair());
    await cutting(() => far.tidy());
    expect(await near.ack('two', again.entries)).toBe(true);
    expect(await cutting(() => far.leave('two'))).toBe(true);
    expect(await direct.raw.zcard(near.keys.sessions)).toBe(0);
    expect(await cutting(() => far.announce(3))).toBe(3);
    expect(await cutting(() => far.announce(2))).toBe(3);
    expect(await cutting(() => far.groups())).toEqual(['g']);
    await cutting(() => far.withdraw());
    expect(await near.withdraw()).toBe(false);
  });

  it('of remove-group and purge: the group is forgotten, and others keep what they need', async () => {
    const { near, far } = hands();
    const other = new Hands(direct, 's', 'other', false);
    await near.publish(3);
    await near.open();
    await other.open();
    await other.ack('two', (await other.take('two', 't', 2)).entries);
    await cutting(() => far.remove());
    expect(await near.ids()).toHaveLength(3);
    await cutting(() => far.purge());
    expect(await near.ids()).toHaveLength(1);
    expect((await other.take('two', 't2', 5)).entries).toMatchObject([{ payload: '2' }]);
  });

  it('of replay and drop: a dead letter is published once, or gone', async () => {
    const { near } = hands();
    await near.publish(2);
    await near.open();
    const { entries } = await near.take('one', 't', 2);
    await near.finish('one', entries, 'broken');
    const { items } = await direct.streams.deadLetters('s', 'g');
    await lossy.streams.stats('s', 'g');
    await cutting(() => lossy.streams.replay('s', 'g', [items[0]?.id ?? '']));
    expect(await near.ids()).toHaveLength(1);
    await cutting(() => lossy.streams.drop('s', 'g', [items[1]?.id ?? '']));
    expect(await direct.raw.xlen(near.keys.dead)).toBe(0);
    expect((await near.take('one', 't2', 5)).entries).toMatchObject([{ payload: '0', attempt: 1 }]);
  });

  it('of a replay of a range: each message is published once', async () => {
    const { near, far } = hands();
    await near.publish(3);
    await near.open();
    await new Hands(direct, 's', 'other', false).open();
    await near.ack('one', (await near.take('one', 't', 2)).entries);
    expect(await cutting(() => far.replayRange())).toMatchObject({ state: 'end', replayed: 2 });
    expect(await near.replayRange()).toMatchObject({ state: 'end', replayed: 2 });
    const taken = await near.take('one', 't2', 9);
    expect(taken.entries.map(({ payload }) => payload)).toEqual(['2', '0', '1']);
  });

  it('of a pause and of its end: the group is as the last call says', async () => {
    const { near } = hands();
    await near.open();
    const isPaused = async () => (await direct.streams.stats('s', 'g')).paused;
    await cutting(() => lossy.streams.pause('s', 'g'));
    expect(await isPaused()).toBe(true);
    await cutting(() => lossy.streams.resume('s', 'g'));
    expect(await isPaused()).toBe(false);
  });

  it('of the scripts that read: what is there', async () => {
    const { near, far } = hands();
    await near.publish(2);
    await near.open();
    const { entries } = await near.take('one', 't', 1);
    await near.finish('one', entries, 'broken');
    expect(await cutting(() => far.stats())).toMatchObject({ dead: 1, length: 1 });
    expect(await cutting(() => far.dead())).toEqual(expect.arrayContaining([entries[0]?.id, '0', 'broken']));
    const foreign = hands(false, true);
    expect(await cutting(() => foreign.far.dead())).toEqual(expect.arrayContaining([entries[0]?.id, 'broken']));
  });

  it('of the scripts that read for the console: what is there', async () => {
    const { near } = hands();
    const [id = ''] = await near.publish(1);
    await near.open();
    await near.take('one', 't', 1);
    const { registry } = lossy;
    const { stream, sessions, due, tries, dead, woken } = near.keys;
    const config = registry.keySpace('stream-consumer').tag('s').key('config');
    expect(await cutting(() => registry.run(readConfig, { keys: { config }, args: {} }))).toMatchObject({ paused: [] });
    const list = () =>
      registry.run(listConsumers, { keys: { stream, sessions, woken }, args: { group: 'g', count: 10 } });
    expect((await cutting(list)).consumers).toMatchObject([{ name: 'one', pending: 1 }]);
    const find = () =>
      registry.run(findMessage, { keys: { stream, sessions, due, tries, dead }, args: { group: 'g', id, most: 10 } });
    expect(await cutting(find)).toMatchObject({ state: 'held', consumer: 'one', deliveries: 1 });
  });

  it('of every script', () => {
    expect([...replays.seen].sort()).toEqual(streamConsumerScripts.map(({ name }) => name).sort());
  });
});
