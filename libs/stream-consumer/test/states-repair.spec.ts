import { each, NOW, ScriptStates } from '../../../test/support/script-states';
import { consumerScripts, repairGroup, tidyNotes } from '../src/consumer/consumer.scripts';
import { streamScripts } from '../src/streams/streams.scripts';

type Args = Readonly<Record<string, string | number | readonly string[]>>;

describe('each script that looks after a group, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates([...consumerScripts, ...streamScripts]);
  const repair = (args: Args = {}) =>
    states.call(repairGroup, {
      group: 'g',
      leaseMs: 100,
      count: 3,
      pending: '0-0',
      waiting: '-',
      parked: '',
      unsettled: '0',
      session: '',
      taken: 0,
      held: [],
      ...args,
    });
  const tidy = (args: Args = {}) =>
    states.call(tidyNotes, { group: 'g', count: 500, triesAfter: '0', headsAfter: '0', ...args });
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
  const dropFirst = () => states.run('XGROUP', 'DELCONSUMER', '@stream', 'g', 'first');

  it('repair: has nothing to do', async () => {
    expect(await states.after(repair())).toEqual([
      { repaired: 0, restored: 0, deleted: 0, next: { pending: '0-0', waiting: '-', parked: '', unsettled: '0' } },
      {},
    ]);
    setUp('1-1', '2-1');
    give('waiting', '1-1', '2-1');
    dropFirst();
    states.put('ZADD', 'due', 5, '1-1', 5, '2-1');
    const before = states.keys();
    expect(await states.after(repair())).toEqual([
      { repaired: 0, restored: 0, deleted: 0, next: { pending: '0-0', waiting: '-', parked: '', unsettled: '0' } },
      before,
    ]);
  });

  it('repair: restores what waits for an attempt', async () => {
    setUp('1-1', '2-1', '3-1', '4-1', '5-1');
    give('waiting', '1-1', '2-1', '3-1', '4-1', '5-1');
    dropFirst();
    states.put('ZADD', 'due', 5, '2-1');
    states.put('PEXPIRE', 'stream', 7_000);
    states.put('ZADD', 'sessions', 5, 's');
    states.put('HSET', 'heads', 'k', '2-1');
    states.clock.set(NOW + 0.5);
    expect(await states.after(repair())).toEqual([
      { repaired: 2, restored: 0, deleted: 0, next: { pending: '0-0', waiting: '(3-1', parked: '', unsettled: '0' } },
      {
        due: '2-1@5, 1-1@1800000000000, 3-1@1800000000000 | 7000',
        heads: 'k=2-1 | 7000',
        sessions: 's@5 | 7000',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 4-1 payload=p4-1, 5-1 payload=p5-1, [g after 5-1; waiting: 1-1 x1 2-1 x1 3-1 x1 4-1 x1 5-1 x1] | 7000',
      },
    ]);
    expect(await states.after(repair({ waiting: '(3-1', pending: '4-1', count: 2 }))).toEqual([
      { repaired: 2, restored: 0, deleted: 0, next: { pending: '0-0', waiting: '(5-1', parked: '', unsettled: '0' } },
      {
        due: '2-1@5, 1-1@1800000000000, 3-1@1800000000000, 4-1@1800000000000, 5-1@1800000000000 | 7000',
        heads: 'k=2-1 | 7000',
        sessions: 's@5 | 7000',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 4-1 payload=p4-1, 5-1 payload=p5-1, [g after 5-1; waiting: 1-1 x1 2-1 x1 3-1 x1 4-1 x1 5-1 x1] | 7000',
      },
    ]);
    expect(await states.after(repair({ waiting: '(5-1' }))).toEqual([
      { repaired: 0, restored: 0, deleted: 0, next: { pending: '0-0', waiting: '-', parked: '', unsettled: '0' } },
      {
        due: '2-1@5, 1-1@1800000000000, 3-1@1800000000000, 4-1@1800000000000, 5-1@1800000000000 | 7000',
        heads: 'k=2-1 | 7000',
        sessions: 's@5 | 7000',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 4-1 payload=p4-1, 5-1 payload=p5-1, [g after 5-1; waiting: 1-1 x1 2-1 x1 3-1 x1 4-1 x1 5-1 x1] | 7000',
      },
    ]);
  });

  it('repair: drops entries that the stream no longer has', async () => {
    setUp('1-1', '2-1', '3-1', '4-1', '5-1');
    give('waiting', '1-1', '2-1', '3-1', '4-1', '5-1');
    dropFirst();
    states.put('ZADD', 'due', 5, '1-1', 5, '2-1', 5, '3-1', 5, '4-1', 5, '5-1');
    states.put('XDEL', 'stream', '1-1', '3-1');
    expect(await states.after(repair())).toEqual([
      { repaired: 2, restored: 0, deleted: 0, next: { pending: '0-0', waiting: '(5-1', parked: '', unsettled: '0' } },
      {
        due: '1-1@5, 2-1@5, 3-1@5, 4-1@5, 5-1@5',
        stream: '2-1 payload=p2-1, 4-1 payload=p4-1, 5-1 payload=p5-1, [g after 5-1; waiting: 2-1 x1 4-1 x1 5-1 x1]',
      },
    ]);
    states.put('XDEL', 'stream', '2-1', '5-1');
    expect(await states.after(repair({ pending: '4-1' }))).toEqual([
      { repaired: 1, restored: 0, deleted: 0, next: { pending: '0-0', waiting: '-', parked: '', unsettled: '0' } },
      { due: '1-1@5, 2-1@5, 3-1@5, 4-1@5, 5-1@5', stream: '4-1 payload=p4-1, [g after 5-1; waiting: 2-1 x1 4-1 x1]' },
    ]);
  });

  it('repair: takes the entries of consumers without a lease', async () => {
    setUp('1-1', '2-1', '3-1', '4-1');
    give('dead', '1-1');
    give('alive', '2-1');
    give('lost', '3-1');
    give('empty', '4-1');
    dropFirst();
    states.put('XACK', 'stream', 'g', '4-1');
    states.put('ZADD', 'sessions', NOW + 9, 'alive', 0, 'lost');
    states.clock.set(NOW + 99);
    const before = states.keys();
    expect(await states.after(repair())).toEqual([
      { repaired: 0, restored: 0, deleted: 0, next: { pending: '0-0', waiting: '-', parked: '', unsettled: '0' } },
      {
        sessions: 'lost@0, alive@1800000000009',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 4-1 payload=p4-1, [g after 4-1; alive: 2-1 x1; dead: 1-1 x1; empty: -; lost: 3-1 x1]',
      },
    ]);
    expect(states.keys()).toEqual(before);
    states.clock.set(NOW + 100);
    expect(await states.after(repair())).toEqual([
      { repaired: 1, restored: 0, deleted: 0, next: { pending: '0-0', waiting: '-', parked: '', unsettled: '0' } },
      {
        sessions: 'dead@0, lost@0, alive@1800000000009',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 4-1 payload=p4-1, [g after 4-1; alive: 2-1 x1; dead: 1-1 x1; lost: 3-1 x1]',
      },
    ]);
  });

  it('repair: makes the first parked entry of a key its head', async () => {
    setUp('1-1', '2-1', '3-1', '4-1', '5-1', '6-1');
    give('parked a', '2-1', '3-1');
    give('parked b', '5-1');
    give('parked c', '6-1');
    give('parked d');
    give('s', '1-1', '4-1');
    dropFirst();
    states.put('HSET', 'heads', 'a', '1-1', 'b', '9-9', 'd', '8-8');
    states.put('ZADD', 'sessions', NOW + 9, 's');
    states.put('XDEL', 'stream', '6-1');
    expect(await states.after(repair({ count: 1 }))).toEqual([
      {
        repaired: 1,
        restored: 0,
        deleted: 0,
        next: { pending: '0-0', waiting: '-', parked: 'parked a', unsettled: '0' },
      },
      {
        heads: 'a=1-1, b=9-9, d=8-8',
        sessions: 's@1800000000009',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 4-1 payload=p4-1, 5-1 payload=p5-1, [g after 6-1; parked a: 2-1 x1 3-1 x1; parked b: 5-1 x1; parked c: -; parked d: -; s: 1-1 x1 4-1 x1]',
      },
    ]);
    expect(await states.after(repair({ count: 1, parked: 'parked a' }))).toEqual([
      {
        repaired: 1,
        restored: 0,
        deleted: 0,
        next: { pending: '0-0', waiting: '(5-1', parked: 'parked b', unsettled: '0' },
      },
      {
        due: '5-1@1800000000000',
        heads: 'a=1-1, b=5-1, d=8-8',
        sessions: 's@1800000000009',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 4-1 payload=p4-1, 5-1 payload=p5-1, [g after 6-1; parked a: 2-1 x1 3-1 x1; parked b: -; parked c: -; parked d: -; s: 1-1 x1 4-1 x1; waiting: 5-1 x1]',
      },
    ]);
    expect(await states.after(repair({ count: 9, parked: 'parked b' }))).toEqual([
      { repaired: 0, restored: 0, deleted: 0, next: { pending: '0-0', waiting: '-', parked: '', unsettled: '0' } },
      {
        due: '5-1@1800000000000',
        heads: 'a=1-1, b=5-1, d=8-8',
        sessions: 's@1800000000009',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 4-1 payload=p4-1, 5-1 payload=p5-1, [g after 6-1; parked a: 2-1 x1 3-1 x1; parked b: -; s: 1-1 x1 4-1 x1; waiting: 5-1 x1]',
      },
    ]);
    expect(await states.after(repair({ count: 2, parked: 'gone' }))).toEqual([
      { repaired: 0, restored: 0, deleted: 0, next: { pending: '0-0', waiting: '-', parked: '', unsettled: '0' } },
      {
        due: '5-1@1800000000000',
        heads: 'a=1-1, b=5-1, d=8-8',
        sessions: 's@1800000000009',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 4-1 payload=p4-1, 5-1 payload=p5-1, [g after 6-1; parked a: 2-1 x1 3-1 x1; parked b: -; s: 1-1 x1 4-1 x1; waiting: 5-1 x1]',
      },
    ]);
  });

  it('repair: lets the entries of a key wait for one that somebody took out of the list of pending entries', async () => {
    setUp('1-1', '2-1');
    give('s', '1-1');
    give('parked a', '2-1');
    dropFirst();
    states.put('HSET', 'heads', 'a', '1-1');
    states.put('HSET', 'takes', 's', 't1 1-1');
    states.put('ZADD', 'sessions', NOW + 9, 's');
    states.put('SADD', 'unsettled', '1-1', '2-1');
    states.run('XACK', '@stream', 'g', '1-1');
    const [reply, keys] = await states.after(repair());
    expect(reply).toMatchObject({ restored: 1, deleted: 0 });
    expect(keys).toMatchObject({
      heads: 'a=1-1',
      stream: expect.stringContaining('parked a: 2-1 x1; s: 1-1') as string,
    });
  });

  it('repair: looks at as many keys as it may', async () => {
    setUp('1-1', '2-1', '3-1');
    for (const [at, key] of ['a', 'b', 'c'].entries()) give(`parked ${key}`, `${at + 1}-1`);
    dropFirst();
    expect(await repair({ count: 2 })).toEqual({
      repaired: 2,
      restored: 0,
      deleted: 0,
      next: { pending: '0-0', waiting: '(2-1', parked: 'parked b', unsettled: '0' },
    });
  });

  it('repair: puts back what a session does not hold', async () => {
    const start = () => {
      setUp('1-1', '2-1', '3-1', '4-1', '5-1', '6-1');
      give('s', '1-1', '2-1', '3-1', '4-1', '5-1', '6-1');
      dropFirst();
      states.put('ZADD', 'sessions', NOW + 9, 's');
      states.put('HSET', 'takes', 's', 'z 1-1');
      states.put('XDEL', 'stream', '2-1');
    };
    start();
    expect(await states.after(repair({ session: 's', taken: 36, held: ['1-1', '4-1'], count: 1 }))).toEqual([
      { repaired: 4, restored: 0, deleted: 0, next: { pending: '3-1', waiting: '(3-1', parked: '', unsettled: '0' } },
      {
        due: '3-1@1800000000000, 5-1@1800000000000, 6-1@1800000000000',
        sessions: 's@1800000000009',
        stream:
          '1-1 payload=p1-1, 3-1 payload=p3-1, 4-1 payload=p4-1, 5-1 payload=p5-1, 6-1 payload=p6-1, [g after 6-1; s: 1-1 x1 4-1 x1; waiting: 3-1 x1 5-1 x1 6-1 x1]',
        takes: 's=z 1-1',
      },
    ]);
    start();
    const short = async (args: Args) => ((await repair({ session: 's', ...args })) as { repaired: number }).repaired;
    expect([
      await short({ taken: 35 }),
      await short({ taken: 34 }),
      await short({ taken: 36, session: 'none' }),
      await short({ taken: 36, session: '' }),
    ]).toEqual([1, 0, 0, 0]);
    states.put('ZADD', 'sessions', 0, 's');
    expect(await short({ taken: 36 })).toBe(0);
    start();
    states.put('HDEL', 'takes', 's');
    expect([await short({ taken: -1 }), await short({ taken: 0 })]).toEqual([1, 5]);
  });

  describe('what somebody took out of the list of pending entries', () => {
    const READ = ['1-1', '2-1', '3-1', '4-1'] as const;
    /** A group that has not settled four entries. The session s has the first two. */
    const start = () => {
      setUp(...READ, '5-1');
      states.run('XREADGROUP', 'GROUP', 'g', 's', 'COUNT', 4, 'STREAMS', '@stream', '>');
      states.put('SADD', 'unsettled', ...READ);
      states.put('ZADD', 'sessions', NOW + 5, 's', 0, 'over');
      states.put('HSET', 'takes', 's', 'z 2-1', 'over', 'y 3-1');
      states.put('ZADD', 'due', NOW + 7, '4-1');
    };
    const pending = () => states.keys().stream?.replace(/^.*\[/, '[');

    it('comes back, to the session that works on it', async () => {
      start();
      states.run('XGROUP', 'DELCONSUMER', '@stream', 'g', 's');
      const before = states.keys();
      expect(await states.after(repair({ count: 9, session: 's', taken: 36, held: ['1-1', '2-1'] }))).toEqual([
        { repaired: 4, restored: 4, deleted: 0, next: { pending: '0-0', waiting: '-', parked: '', unsettled: '0' } },
        {
          ...before,
          due: '3-1@3, 4-1@1800000000007',
          stream: `${String(before.stream).replace(/\[.*$/, '')}[g after 4-1; s: 1-1 x1 2-1 x1; waiting: 3-1 x1 4-1 x1]`,
        },
      ]);
      expect(await repair({ count: 9, session: 's', taken: 36, held: ['1-1', '2-1'] })).toMatchObject({
        repaired: 0,
        restored: 0,
      });
    });

    it('comes back at the check of another process, to the session that last took it', async () => {
      start();
      states.run('XGROUP', 'DELCONSUMER', '@stream', 'g', 's');
      expect(await repair({ count: 9 })).toMatchObject({ restored: 4 });
      expect(pending()).toBe('[g after 4-1; s: 2-1 x1; waiting: 1-1 x1 3-1 x1 4-1 x1]');
      expect(states.keys().due).toBe('1-1@1, 3-1@3, 4-1@1800000000007');
    });

    it('is not due before now, whatever its id', async () => {
      start();
      states.put('XADD', 'stream', '18446744073709551615-1', 'payload', 'p');
      states.put('SADD', 'unsettled', '18446744073709551615-1');
      await repair({ count: 9 });
      expect(states.put('ZSCORE', 'due', '18446744073709551615-1')).toBe(String(NOW));
    });

    it('is found although a consumer of another program has as many entries', async () => {
      start();
      // It does not note what it takes.
      states.run('XREADGROUP', 'GROUP', 'g', 'stranger', 'STREAMS', '@stream', '>');
      const held = READ.filter((id) => id !== '4-1');
      expect(await repair({ count: 9, session: 's', taken: 36, held: READ })).toMatchObject({
        repaired: 0,
        restored: 0,
      });
      states.put('XACK', 'stream', 'g', '4-1');
      expect(await repair({ count: 9, session: 's', taken: 36, held })).toMatchObject({ repaired: 1, restored: 1 });
      expect(pending()).toBe('[g after 5-1; s: 1-1 x1 2-1 x1 3-1 x1; stranger: 5-1 x1; waiting: 4-1 x1]');
    });

    it('is forgotten if it was deleted', async () => {
      start();
      states.run('XGROUP', 'DELCONSUMER', '@stream', 'g', 's');
      states.put('XTRIM', 'stream', 'MAXLEN', 2);
      expect(await states.after(repair({ count: 9 }))).toEqual([
        { repaired: 4, restored: 1, deleted: 3, next: { pending: '0-0', waiting: '-', parked: '', unsettled: '0' } },
        {
          due: '4-1@1800000000007',
          sessions: 'over@0, s@1800000000005',
          stream: '4-1 payload=p4-1, 5-1 payload=p5-1, [g after 4-1; waiting: 4-1 x1]',
          takes: 'over=y 3-1, s=z 2-1',
          unsettled: '4-1',
        },
      ]);
    });
  });

  it('repair: fails before it changes anything if a key has another type', async () => {
    const keys = ['stream', 'sessions', 'due', 'heads', 'takes', 'unsettled'];
    const start = () => {
      setUp('1-1', '2-1');
      give('waiting', '1-1');
      states.put('XDEL', 'stream', '1-1');
    };
    expect(await states.withOtherTypes(keys, start, () => repair())).toEqual(each(keys, 'error WRONGTYPE'));
    states.put('DEL', 'stream');
    states.put('SET', 'stream', 'x');
    expect((await states.after(tidy()))[0]).toBe('error WRONGTYPE');
  });
});
