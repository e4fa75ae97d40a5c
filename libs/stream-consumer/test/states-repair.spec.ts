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
      { repaired: 0, next: { pending: '0-0', waiting: '-', parked: '' } },
      {},
    ]);
    setUp('1-1', '2-1');
    give('waiting', '1-1', '2-1');
    dropFirst();
    states.put('ZADD', 'due', 5, '1-1', 5, '2-1');
    const before = states.keys();
    expect(await states.after(repair())).toEqual([
      { repaired: 0, next: { pending: '0-0', waiting: '-', parked: '' } },
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
      { repaired: 2, next: { pending: '0-0', waiting: '(3-1', parked: '' } },
      {
        due: '2-1@5, 1-1@1800000000000, 3-1@1800000000000 | 7000',
        heads: 'k=2-1 | 7000',
        sessions: 's@5 | 7000',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 4-1 payload=p4-1, 5-1 payload=p5-1, [g after 5-1; waiting: 1-1 x1 2-1 x1 3-1 x1 4-1 x1 5-1 x1] | 7000',
      },
    ]);
    expect(await states.after(repair({ waiting: '(3-1', pending: '4-1', count: 2 }))).toEqual([
      { repaired: 2, next: { pending: '0-0', waiting: '(5-1', parked: '' } },
      {
        due: '2-1@5, 1-1@1800000000000, 3-1@1800000000000, 4-1@1800000000000, 5-1@1800000000000 | 7000',
        heads: 'k=2-1 | 7000',
        sessions: 's@5 | 7000',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 4-1 payload=p4-1, 5-1 payload=p5-1, [g after 5-1; waiting: 1-1 x1 2-1 x1 3-1 x1 4-1 x1 5-1 x1] | 7000',
      },
    ]);
    expect(await states.after(repair({ waiting: '(5-1' }))).toEqual([
      { repaired: 0, next: { pending: '0-0', waiting: '-', parked: '' } },
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
      { repaired: 2, next: { pending: '0-0', waiting: '(5-1', parked: '' } },
      {
        due: '1-1@5, 2-1@5, 3-1@5, 4-1@5, 5-1@5',
        stream: '2-1 payload=p2-1, 4-1 payload=p4-1, 5-1 payload=p5-1, [g after 5-1; waiting: 2-1 x1 4-1 x1 5-1 x1]',
      },
    ]);
    states.put('XDEL', 'stream', '2-1', '5-1');
    expect(await states.after(repair({ pending: '4-1' }))).toEqual([
      { repaired: 1, next: { pending: '0-0', waiting: '-', parked: '' } },
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
      { repaired: 0, next: { pending: '0-0', waiting: '-', parked: '' } },
      {
        sessions: 'lost@0, alive@1800000000009',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 4-1 payload=p4-1, [g after 4-1; alive: 2-1 x1; dead: 1-1 x1; empty: -; lost: 3-1 x1]',
      },
    ]);
    expect(states.keys()).toEqual(before);
    states.clock.set(NOW + 100);
    expect(await states.after(repair())).toEqual([
      { repaired: 1, next: { pending: '0-0', waiting: '-', parked: '' } },
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
      { repaired: 1, next: { pending: '0-0', waiting: '-', parked: 'parked a' } },
      {
        heads: 'a=1-1, b=9-9, d=8-8',
        sessions: 's@1800000000009',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 4-1 payload=p4-1, 5-1 payload=p5-1, [g after 6-1; parked a: 2-1 x1 3-1 x1; parked b: 5-1 x1; parked c: -; parked d: -; s: 1-1 x1 4-1 x1]',
      },
    ]);
    expect(await states.after(repair({ count: 1, parked: 'parked a' }))).toEqual([
      { repaired: 1, next: { pending: '0-0', waiting: '(5-1', parked: 'parked b' } },
      {
        due: '5-1@1800000000000',
        heads: 'a=1-1, b=5-1, d=8-8',
        sessions: 's@1800000000009',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 4-1 payload=p4-1, 5-1 payload=p5-1, [g after 6-1; parked a: 2-1 x1 3-1 x1; parked b: -; parked c: -; parked d: -; s: 1-1 x1 4-1 x1; waiting: 5-1 x1]',
      },
    ]);
    expect(await states.after(repair({ count: 9, parked: 'parked b' }))).toEqual([
      { repaired: 0, next: { pending: '0-0', waiting: '-', parked: '' } },
      {
        due: '5-1@1800000000000',
        heads: 'a=1-1, b=5-1, d=8-8',
        sessions: 's@1800000000009',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 4-1 payload=p4-1, 5-1 payload=p5-1, [g after 6-1; parked a: 2-1 x1 3-1 x1; parked b: -; s: 1-1 x1 4-1 x1; waiting: 5-1 x1]',
      },
    ]);
    expect(await states.after(repair({ count: 2, parked: 'gone' }))).toEqual([
      { repaired: 0, next: { pending: '0-0', waiting: '-', parked: '' } },
      {
        due: '5-1@1800000000000',
        heads: 'a=1-1, b=5-1, d=8-8',
        sessions: 's@1800000000009',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 4-1 payload=p4-1, 5-1 payload=p5-1, [g after 6-1; parked a: 2-1 x1 3-1 x1; parked b: -; s: 1-1 x1 4-1 x1; waiting: 5-1 x1]',
      },
    ]);
  });

  it('repair: looks at as many keys as it may', async () => {
    setUp('1-1', '2-1', '3-1');
    for (const [at, key] of ['a', 'b', 'c'].entries()) give(`parked ${key}`, `${at + 1}-1`);
    dropFirst();
    expect(await repair({ count: 2 })).toEqual({
      repaired: 2,
      next: { pending: '0-0', waiting: '(2-1', parked: 'parked b' },
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
      { repaired: 4, next: { pending: '3-1', waiting: '(3-1', parked: '' } },
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

  it('repair: fails before it changes anything if a key has another type', async () => {
    const keys = ['stream', 'sessions', 'due', 'heads', 'takes'];
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
