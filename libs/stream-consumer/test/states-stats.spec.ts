import { NOW, ScriptStates } from '../../../test/support/script-states';
import { consumerScripts, tidyNotes } from '../src/consumer/consumer.scripts';
import { readStats, streamScripts } from '../src/streams/streams.scripts';

type Args = Readonly<Record<string, string | number | readonly string[]>>;

describe('each script that looks after a group, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates([...consumerScripts, ...streamScripts]);
  const tidy = (args: Args = {}) =>
    states.call(tidyNotes, { group: 'g', count: 500, triesAfter: '0', headsAfter: '0', ...args });
  const stats = () => states.call(readStats, { group: 'g' });
  const add = (...ids: string[]) => ids.forEach((id) => states.put('XADD', 'stream', id, 'payload', `p${id}`));
  const setUp = (...ids: string[]) => {
    for (const name of Object.keys(states.keys())) states.put('DEL', name);
    states.run('XGROUP', 'CREATE', '@stream', 'g', '0', 'MKSTREAM');
    add(...ids);
  };
  /** Gives entries to a consumer. */
  const give = (consumer: string, ...ids: string[]) => {
    states.run('XREADGROUP', 'GROUP', 'g', 'first', 'COUNT', 1_000, 'STREAMS', '@stream', '>');
    states.run('XCLAIM', '@stream', 'g', consumer, 0, ...ids, 'JUSTID');
    states.run('XGROUP', 'CREATECONSUMER', '@stream', 'g', consumer);
  };
  it('tidy: goes on from both cursors', async () => {
    setUp();
    for (let at = 0; at < 300; at++) {
      states.put('HSET', 'tries', `9-${at}`, 'x');
      states.put('HSET', 'heads', `k${at}`, '9-9');
    }
    const cursor = (name: string, from: string) => (states.put('HSCAN', name, from, 'COUNT', 10) as [string])[0];
    const [triesAfter, headsAfter] = [cursor('tries', '0'), cursor('heads', '0')];
    const expected = { triesAfter: cursor('tries', triesAfter), headsAfter: cursor('heads', headsAfter) };
    expect(await tidy({ count: 10, triesAfter, headsAfter })).toEqual(expected);
  });

  it('tidy: deletes what belongs to entries that are not pending', async () => {
    expect(await tidy()).toEqual({ triesAfter: '0', headsAfter: '0' });
    setUp('1-1', '2-1', '3-1');
    give('s', '1-1', '2-1');
    give('parked p', '3-1');
    states.put('HSET', 'tries', '1-1', 'x', '7-7', 'y', '8-8', 'z');
    states.put('HSET', 'heads', 'a', '1-1', 'b', '9-9', 'p', '9-9', 'c', '2-1', 'd', '7-7');
    expect(await states.after(tidy())).toEqual([
      { triesAfter: '0', headsAfter: '0' },
      {
        heads: 'a=1-1, c=2-1, p=9-9',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, [g after 3-1; first: -; parked p: 3-1 x1; s: 1-1 x1 2-1 x1]',
        tries: '1-1=x',
      },
    ]);
    for (let at = 0; at < 300; at++) {
      states.put('HSET', 'tries', `9-${at}`, 'x');
      states.put('HSET', 'heads', `k${at}`, '9-9');
    }
    const first = (await tidy({ count: 10 })) as { triesAfter: string; headsAfter: string };
    expect([first.triesAfter, first.headsAfter]).not.toContain('0');
    const [tries, heads] = [states.put('HLEN', 'tries') as number, states.put('HLEN', 'heads') as number];
    expect([tries > 200 && tries < 301, heads > 200 && heads < 303]).toEqual([true, true]);
    await tidy({ ...first, count: 1_000 });
    expect([states.put('HLEN', 'tries'), states.put('HLEN', 'heads')]).toEqual([1, 3]);
  });

  it('stats: counts the entries of a group', async () => {
    expect(await stats()).toEqual({
      length: 0,
      pending: 0,
      lag: 0,
      oldestMs: -1,
      due: 0,
      parked: 0,
      dead: 0,
      sessions: 0,
    });
    setUp();
    expect(await stats()).toEqual({
      length: 0,
      pending: 0,
      lag: 0,
      oldestMs: -1,
      due: 0,
      parked: 0,
      dead: 0,
      sessions: 0,
    });
    const at = (ms: number) => `${NOW - ms}-1`;
    add(at(90), at(80), at(70), at(60), at(50));
    expect(await stats()).toEqual({
      length: 5,
      pending: 0,
      lag: 5,
      oldestMs: 90,
      due: 0,
      parked: 0,
      dead: 0,
      sessions: 0,
    });
    states.run('XREADGROUP', 'GROUP', 'g', 's', 'COUNT', 3, 'STREAMS', '@stream', '>');
    states.run('XCLAIM', '@stream', 'g', 'parked k', 0, at(80), at(70), 'JUSTID');
    states.run('XCLAIM', '@stream', 'g', 'parkedk', 0, at(90), 'JUSTID');
    states.run('XGROUP', 'CREATE', '@stream', 'other', '$');
    states.put('ZADD', 'due', 1, 'a', 2, 'b');
    states.put('ZADD', 'sessions', NOW, 'a', NOW + 1, 'b', NOW + 2, 'c', 0, 'd');
    for (const id of ['1-1', '1-2', '1-3']) states.put('XADD', 'dead', id, 'f', 'v');
    expect(await stats()).toEqual({
      length: 5,
      pending: 3,
      lag: 2,
      oldestMs: 90,
      due: 2,
      parked: 2,
      dead: 3,
      sessions: 2,
    });
    states.put('XACK', 'stream', 'g', at(90));
    states.clock.set(NOW + 0.7);
    expect(await stats()).toEqual({
      length: 5,
      pending: 2,
      lag: 2,
      oldestMs: 80,
      due: 2,
      parked: 2,
      dead: 3,
      sessions: 2,
    });
    states.put('XACK', 'stream', 'g', at(80), at(70));
    expect(await stats()).toEqual({
      length: 5,
      pending: 0,
      lag: 2,
      oldestMs: 60,
      due: 2,
      parked: 0,
      dead: 3,
      sessions: 2,
    });
    states.put('XDEL', 'stream', at(60));
    expect(await stats()).toEqual({
      length: 4,
      pending: 0,
      lag: 1,
      oldestMs: 50,
      due: 2,
      parked: 0,
      dead: 3,
      sessions: 2,
    });
    states.clock.set(NOW - 500);
    expect(await stats()).toMatchObject({ oldestMs: 0 });
  });

  it('stats: counts one pending entry, and entries that are settled and still there', async () => {
    setUp();
    for (let at = 1; at <= 140; at++) add(`${at}-1`);
    states.run('XREADGROUP', 'GROUP', 'g', 's', 'COUNT', 10, 'STREAMS', '@stream', '>');
    for (let at = 1; at <= 9; at++) states.put('XACK', 'stream', 'g', `${at}-1`);
    expect(await stats()).toMatchObject({ length: 140, pending: 1, lag: 130, oldestMs: NOW - 10 });
  });

  it('stats: estimates a lag of 100 if many pending entries were deleted', async () => {
    setUp();
    for (let at = 1; at <= 211; at++) add(`${at}-1`);
    states.run('XREADGROUP', 'GROUP', 'g', 's', 'COUNT', 60, 'STREAMS', '@stream', '>');
    for (let at = 1; at <= 60; at++) states.put('XDEL', 'stream', `${at}-1`);
    states.put('XDEL', 'stream', '200-1');
    expect(await stats()).toMatchObject({ length: 150, pending: 60, lag: 100 });
  });

  it('stats: the oldest entry is one that was not read, or one that is not settled', async () => {
    setUp('5-1', '6-1');
    states.run('XREADGROUP', 'GROUP', 'g', 's', 'STREAMS', '@stream', '>');
    states.run('XGROUP', 'SETID', '@stream', 'g', '0');
    expect(await stats()).toMatchObject({ oldestMs: NOW - 5 });
    states.put('XACK', 'stream', 'g', '5-1');
    expect(await stats()).toMatchObject({ oldestMs: NOW - 5 });
  });

  it.each([
    [99, 0, { length: 99, pending: 0, lag: 99, oldestMs: 1799999999999, due: 0, parked: 0, dead: 0, sessions: 0 }],
    [100, 0, { length: 100, pending: 0, lag: 100, oldestMs: 1799999999999, due: 0, parked: 0, dead: 0, sessions: 0 }],
    [130, 0, { length: 130, pending: 0, lag: 130, oldestMs: 1799999999999, due: 0, parked: 0, dead: 0, sessions: 0 }],
    [130, 7, { length: 137, pending: 7, lag: 130, oldestMs: 1799999999999, due: 0, parked: 0, dead: 0, sessions: 0 }],
  ])(
    'stats: estimates the lag if entries were deleted, with %i unread and %i pending',
    async (unread, pending, expected) => {
      setUp();
      for (let at = 1; at <= unread + pending + 1; at++) add(`${at}-1`);
      if (pending > 0) states.run('XREADGROUP', 'GROUP', 'g', 's', 'COUNT', pending, 'STREAMS', '@stream', '>');
      states.put('XDEL', 'stream', `${pending + 5}-1`);
      expect(await stats()).toEqual(expected);
    },
  );
});
