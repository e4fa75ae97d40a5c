import { each, NOW, ScriptStates } from '../../../test/support/script-states';
import {
  acknowledge,
  consumerScripts,
  finish,
  leaveGroup,
  openGroup,
  retryEntry,
  sweepSessions,
} from '../src/consumer/consumer.scripts';

describe('each script of a session, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates(consumerScripts, ['woken']);
  const IDS = ['1-1', '2-1', '3-1', '18446744073709551615-9'] as const;
  /** Four entries that the session s of the group g has; the group other has read the first two, and settled the first. */
  const setUp = () => {
    for (const name of Object.keys(states.keys())) states.put('DEL', name);
    for (const id of IDS) states.put('XADD', 'stream', id, 'payload', `p${id}`);
    for (const group of ['g', 'other']) states.run('XGROUP', 'CREATE', '@stream', group, '0');
    states.run('XREADGROUP', 'GROUP', 'g', 's', 'STREAMS', '@stream', '>');
    states.run('XREADGROUP', 'GROUP', 'other', 'o', 'COUNT', 2, 'STREAMS', '@stream', '>');
    states.put('XACK', 'stream', 'other', '1-1');
    states.put('ZADD', 'sessions', NOW + 50, 's', 0, 'lost');
    for (const id of IDS) states.put('HSET', 'tries', id, `1 ${NOW - 5} an error`);
    states.put('ZADD', 'due', NOW + 9, '7-7');
    states.put('HSET', 'takes', 's', 't1 1-1 2-1', 'x', 't2');
    states.put('SET', 'woken', 1, 'PX', 700);
  };
  const ack = (ids: readonly string[] = IDS, needs = 'g other', session = 's') =>
    states.call(
      acknowledge,
      { group: 'g', session, needs, ids },
      { needed: needs === 'g other' ? ['unsettled', 'unsettled of other'] : [] },
    );
  const end = (rows: readonly string[], needs = 'g other', session = 's') =>
    states.call(
      finish,
      { group: 'g', session, needs, rows },
      { needed: needs === 'g other' ? ['unsettled', 'unsettled of other'] : [] },
    );
  const row = (id: string, key = '', problem = '') => [id, key, problem, '2', '33'];
  const retry = (args: object = {}) =>
    states.call(retryEntry, {
      group: 'g',
      session: 's',
      id: '2-1',
      attempt: 2,
      returned: 0,
      counted: 1,
      firstSeenMs: 44,
      delayMs: 30,
      problem: 'problem',
      ...args,
    });

  it('retry: puts an entry back, also if another session has an entry before it', async () => {
    setUp();
    states.run('XCLAIM', '@stream', 'g', 'another', 0, '2-1', 'JUSTID');
    await retry({ id: '3-1' });
    expect(states.put('ZSCORE', 'due', '3-1')).toBe(String(NOW + 30));
  });

  it('leave: keeps what is noted for a session that Redis does not know', async () => {
    setUp();
    const before = states.keys();
    expect(await states.after(states.call(leaveGroup, { group: 'g', session: 'x' }))).toEqual([true, before]);
  });

  it('open: finds no stream if there are only sessions', async () => {
    states.put('ZADD', 'sessions', 1, 's');
    expect(await states.call(openGroup, { group: 'new', makes: 0, from: '0' })).toEqual({
      state: 'no-stream',
      from: '0',
    });
  });

  it('all: nothing is left to do without the stream or the group', async () => {
    setUp();
    states.put('DEL', 'stream');
    const sweep = () => states.call(sweepSessions, { group: 'g', count: 5, problem: 'died' });
    expect([await ack(), await end(row('1-1')), await retry()]).toEqual([
      true,
      { alive: true, released: 0, buried: 0 },
      true,
    ]);
    setUp();
    states.run('XGROUP', 'DESTROY', '@stream', 'g');
    expect([await retry(), await sweep()]).toEqual([true, { taken: 0, more: false, session: 'lost' }]);
    setUp();
    states.put('DEL', 'stream');
    states.clock.set(NOW + 50);
    states.put('ZADD', 'sessions', 1, 's');
    states.put('ZREM', 'sessions', 'lost');
    expect(await states.after(sweep())).toEqual([
      { taken: 0, more: false, session: 's' },
      {
        due: '7-7@1800000000009',
        takes: 'x=t2',
        tries:
          '1-1=1 1799999999995 an error, 18446744073709551615-9=1 1799999999995 an error, 2-1=1 1799999999995 an error, 3-1=1 1799999999995 an error',
        woken: '1 | 650',
      },
    ]);
  });

  it('retry: puts an entry back, and a replay changes nothing', async () => {
    setUp();
    states.clock.set(NOW + 0.5);
    expect(await states.after(retry())).toEqual([
      true,
      {
        due: '7-7@1800000000009, 2-1@1800000000030',
        sessions: 'lost@0, s@1800000000050',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: 1-1 x1 3-1 x1 18446744073709551615-9 x1; waiting: 2-1 x1], [other after 2-1; o: 2-1 x1]',
        takes: 's=t1 1-1 2-1, x=t2',
        tries:
          '1-1=1 1799999999995 an error, 18446744073709551615-9=1 1799999999995 an error, 2-1=2 44 problem, 3-1=1 1799999999995 an error',
        woken: '1 | 700',
      },
    ]);
    states.clock.set(NOW + 1);
    const before = states.keys();
    expect(await states.after(retry())).toEqual([true, before]);
    setUp();
    states.put('PEXPIRE', 'stream', 7_000);
    expect(await states.after(retry({ counted: 0, delayMs: 0 }))).toEqual([
      true,
      {
        due: '2-1@1800000000001, 7-7@1800000000009 | 7000',
        sessions: 'lost@0, s@1800000000050',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: 1-1 x1 3-1 x1 18446744073709551615-9 x1; waiting: 2-1 x1], [other after 2-1; o: 2-1 x1] | 7000',
        woken: '1 | 700',
        takes: 's=t1 1-1 2-1, x=t2',
        tries:
          '1-1=1 1799999999995 an error, 18446744073709551615-9=1 1799999999995 an error, 2-1=1.1 44 problem, 3-1=1 1799999999995 an error | 7000',
      },
    ]);
  });

  it('retry: keeps the numbers of its delivery if Redis has lost them', async () => {
    setUp();
    states.put('HDEL', 'tries', '2-1');
    expect((await states.after(retry({ attempt: 3, counted: 0, returned: 4 })))[1].tries).toContain(
      '2-1=2.5 44 problem,',
    );
  });

  it('retry: an attempt that does not count is put back once', async () => {
    setUp();
    states.put('HSET', 'tries', '2-1', `1.10 5 problem`);
    const before = states.keys();
    // Copies of calls for earlier deliveries to this consumer, which has the entry again.
    for (const counted of [0, 1]) {
      for (const returned of [0, 1, 9])
        expect(await states.after(retry({ counted, returned }))).toEqual([true, before]);
    }
    expect((await states.after(retry({ counted: 0, returned: 10 })))[1].tries).toContain('2-1=1.11 44 problem,');
    setUp();
    states.put('HSET', 'tries', '2-1', `1.10 5 problem`);
    expect((await states.after(retry({ counted: 1, returned: 10 })))[1].tries).toEqual(
      '1-1=1 1799999999995 an error, 18446744073709551615-9=1 1799999999995 an error, 2-1=2.10 44 problem, 3-1=1 1799999999995 an error',
    );
    setUp();
    states.put('HDEL', 'tries', '2-1');
    states.put('DEL', 'woken');
    expect((await states.after(retry({ attempt: 1, delayMs: 0 })))[1]).toEqual({
      due: '2-1@1800000000000, 7-7@1800000000009',
      sessions: 'lost@0, s@1800000000050',
      stream:
        '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: 1-1 x1 3-1 x1 18446744073709551615-9 x1; waiting: 2-1 x1], [other after 2-1; o: 2-1 x1]',
      published: 'retry',
      woken: '1 | 5000',
      takes: 's=t1 1-1 2-1, x=t2',
      tries:
        '1-1=1 1799999999995 an error, 18446744073709551615-9=1 1799999999995 an error, 2-1=1 44 problem, 3-1=1 1799999999995 an error',
    });
  });

  it.each([
    ['of an earlier attempt', { attempt: 1 }],
    ['that is not pending', { id: '9-9' }],
    ['that another session has', { id: '1-1' }],
  ])('retry: changes nothing for an entry %s', async (_, args) => {
    setUp();
    states.run('XCLAIM', '@stream', 'g', 'another', 0, '1-1', 'JUSTID');
    const before = states.keys();
    expect(await states.after(retry(args))).toEqual([true, before]);
  });

  it('sweep: takes over the entries of a session whose lease has ended', async () => {
    const sweep = (count: number) => states.call(sweepSessions, { group: 'g', count, problem: 'died' });
    setUp();
    states.put('ZREM', 'sessions', 'lost');
    const before = states.keys();
    expect(await states.after(sweep(3))).toEqual([{ taken: 0, more: false, session: '' }, before]);
    states.clock.set(NOW + 50);
    states.put('HDEL', 'tries', '1-1');
    states.put('HSET', 'tries', '2-1', '3 55 ');
    expect(await states.after(sweep(3))).toEqual([
      { taken: 3, more: true, session: 's' },
      {
        due: '7-7@1800000000009, 1-1@1800000000050, 2-1@1800000000050, 3-1@1800000000050',
        sessions: 's@0',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: 18446744073709551615-9 x1; waiting: 1-1 x1 2-1 x1 3-1 x1], [other after 2-1; o: 2-1 x1]',
        takes: 's=t1 1-1 2-1, x=t2',
        tries:
          '1-1=1 1800000000000 died, 18446744073709551615-9=1 1799999999995 an error, 2-1=4 55 died, 3-1=2 1799999999995 an error',
        woken: '1 | 650',
        unsettled: '1-1, 2-1, 3-1',
      },
    ]);
    states.put('PEXPIRE', 'stream', 7_000);
    expect(await states.after(sweep(3))).toEqual([
      { taken: 1, more: false, session: 's' },
      {
        due: '7-7@1800000000009, 1-1@1800000000050, 18446744073709551615-9@1800000000050, 2-1@1800000000050, 3-1@1800000000050 | 7000',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; waiting: 1-1 x1 2-1 x1 3-1 x1 18446744073709551615-9 x1], [other after 2-1; o: 2-1 x1] | 7000',
        takes: 'x=t2',
        tries:
          '1-1=1 1800000000000 died, 18446744073709551615-9=2 1799999999995 an error, 2-1=4 55 died, 3-1=2 1799999999995 an error | 7000',
        woken: '1 | 650',
        unsettled: '1-1, 18446744073709551615-9, 2-1, 3-1 | 7000',
      },
    ]);
  });

  it('sweep: takes over a session with exactly as many entries', async () => {
    setUp();
    states.put('ZADD', 'sessions', NOW - 1, 's', NOW - 2, 'first');
    states.put('ZREM', 'sessions', 'lost');
    expect(await states.call(sweepSessions, { group: 'g', count: 4, problem: 'died' })).toEqual({
      taken: 0,
      more: false,
      session: 'first',
    });
    expect(await states.call(sweepSessions, { group: 'g', count: 4, problem: 'died' })).toEqual({
      taken: 4,
      more: true,
      session: 's',
    });
    expect(await states.call(sweepSessions, { group: 'g', count: 4, problem: 'died' })).toEqual({
      taken: 0,
      more: false,
      session: 's',
    });
  });

  it('leave: ends the lease of a session', async () => {
    const leave = (session: string) => states.call(leaveGroup, { group: 'g', session });
    setUp();
    const before = states.keys();
    expect(await states.after(leave('none'))).toEqual([true, before]);
    expect(await states.after(leave('s'))).toEqual([
      false,
      {
        due: '7-7@1800000000009',
        sessions: 'lost@0, s@0',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: 1-1 x1 2-1 x1 3-1 x1 18446744073709551615-9 x1], [other after 2-1; o: 2-1 x1]',
        takes: 's=t1 1-1 2-1, x=t2',
        tries:
          '1-1=1 1799999999995 an error, 18446744073709551615-9=1 1799999999995 an error, 2-1=1 1799999999995 an error, 3-1=1 1799999999995 an error',
        woken: '1 | 700',
      },
    ]);
    states.put('XACK', 'stream', 'g', ...IDS);
    expect(await states.after(leave('s'))).toEqual([
      true,
      {
        due: '7-7@1800000000009',
        sessions: 'lost@0',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9], [other after 2-1; o: 2-1 x1]',
        takes: 'x=t2',
        tries:
          '1-1=1 1799999999995 an error, 18446744073709551615-9=1 1799999999995 an error, 2-1=1 1799999999995 an error, 3-1=1 1799999999995 an error',
        woken: '1 | 700',
      },
    ]);
    setUp();
    states.put('DEL', 'stream');
    expect(await leave('s')).toBe(true);
  });

  it('open: creates a group, and deletes what an earlier one left', async () => {
    const open = (from: string, group = 'new', makes = 1) => states.call(openGroup, { group, makes, from });
    expect(await states.after(open('$', 'new', 0))).toEqual([{ state: 'no-stream', from: '0' }, {}]);
    expect(await states.after(open('$'))).toEqual([{ state: 'made', from: '0' }, { stream: '[new after 0-0]' }]);
    setUp();
    states.put('HSET', 'heads', 'k', 1);
    expect(await states.after(open('0', 'g'))).toEqual([
      { state: 'there', from: '0' },
      {
        due: '7-7@1800000000009',
        heads: 'k=1',
        sessions: 'lost@0, s@1800000000050',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: 1-1 x1 2-1 x1 3-1 x1 18446744073709551615-9 x1], [other after 2-1; o: 2-1 x1]',
        takes: 's=t1 1-1 2-1, x=t2',
        tries:
          '1-1=1 1799999999995 an error, 18446744073709551615-9=1 1799999999995 an error, 2-1=1 1799999999995 an error, 3-1=1 1799999999995 an error',
        woken: '1 | 700',
      },
    ]);
    states.put('XDEL', 'stream', IDS[3]);
    expect(await states.after(open('$', 'new', 0))).toEqual([
      { state: 'made', from: '18446744073709551615-9' },
      {
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, [g after 18446744073709551615-9; s: 1-1 x1 2-1 x1 3-1 x1 18446744073709551615-9 x1], [new after 18446744073709551615-9], [other after 2-1; o: 2-1 x1]',
        woken: '1 | 700',
      },
    ]);
    states.put('DEL', 'stream');
    states.put('SET', 'stream', 'x');
    expect((await states.after(open('0')))[0]).toBe('error WRONGTYPE');
  });

  it('all fail before they change anything if a key has another type', async () => {
    const check = async (names: readonly string[], call: () => Promise<unknown>) => {
      expect(await states.withOtherTypes(names, setUp, call)).toEqual(each(names, 'error WRONGTYPE'));
    };
    await check(['stream', 'sessions', 'tries', 'unsettled', 'unsettled of other'], () => ack());
    await check(['stream', 'sessions', 'due', 'tries', 'dead', 'heads', 'unsettled', 'unsettled of other'], () =>
      end(row('1-1', 'k', 'e')),
    );
    await check(['stream', 'sessions', 'due', 'tries', 'unsettled'], () => retry());
    await check(['takes', 'sessions'], () => states.call(leaveGroup, { group: 'g', session: 's' }));
    await check(['stream', 'sessions', 'takes', 'due', 'tries', 'unsettled'], () =>
      states.call(sweepSessions, { group: 'g', count: 5, problem: 'died' }),
    );
  });
});
