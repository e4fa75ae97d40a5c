import { NOW, ScriptStates } from '../../../test/support/script-states';
import { acknowledge, consumerScripts, finish, renewSession, retryEntry } from '../src/consumer/consumer.scripts';

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

  it('ack: settles entries, and deletes those that all groups have settled', async () => {
    setUp();
    expect(await states.after(ack(['1-1', '2-1']))).toEqual([
      true,
      {
        due: '7-7@1800000000009',
        sessions: 'lost@0, s@1800000000050',
        stream:
          '2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: 3-1 x1 18446744073709551615-9 x1], [other after 2-1; o: 2-1 x1]',
        takes: 's=t1 1-1 2-1, x=t2',
        tries: '18446744073709551615-9=1 1799999999995 an error, 3-1=1 1799999999995 an error',
        woken: '1 | 700',
      },
    ]);
    expect((await states.after(ack(['1-1', '2-1'])))[0]).toBe(true);
    expect(await states.after(ack())).toEqual([
      true,
      {
        due: '7-7@1800000000009',
        sessions: 'lost@0, s@1800000000050',
        stream:
          '2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: -], [other after 2-1; o: 2-1 x1]',
        takes: 's=t1 1-1 2-1, x=t2',
        woken: '1 | 700',
      },
    ]);
  });

  it.each([
    [
      'which are all others',
      'other',
      '2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: 3-1 x1 18446744073709551615-9 x1], [other after 2-1; o: 2-1 x1]',
    ],
    [
      'of which one is missing',
      'g other third',
      '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: 3-1 x1 18446744073709551615-9 x1], [other after 2-1; o: 2-1 x1]',
    ],
    [
      'all of which keep',
      '*',
      '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: 3-1 x1 18446744073709551615-9 x1], [other after 2-1; o: 2-1 x1]',
    ],
    [
      'none of which is needed',
      '',
      '2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: 3-1 x1 18446744073709551615-9 x1], [other after 2-1; o: 2-1 x1]',
    ],
  ])('ack: deletes what a list of groups allows, %s', async (_, needs, expected) => {
    setUp();
    expect((await states.after(ack(['1-1', '2-1'], needs)))[1].stream).toEqual(expected);
  });

  it('ack: deletes all at once without another group', async () => {
    setUp();
    states.run('XGROUP', 'DESTROY', '@stream', 'other');
    expect((await states.after(ack(['1-1', '3-1'], 'g')))[1].stream).toEqual(
      '2-1 payload=p2-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: 2-1 x1 18446744073709551615-9 x1]',
    );
  });

  it('ack: settles only entries that are gone, if the handler deletes them', async () => {
    setUp();
    states.run('XDEL', '@stream', '1-1');
    const [, keys] = await states.after(ack(['1-1', '3-1'], '-'));
    expect(keys.stream).toEqual(
      '2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: 2-1 x1 3-1 x1 18446744073709551615-9 x1], [other after 2-1; o: 2-1 x1]',
    );
    const before = states.keys();
    expect(await states.after(ack(['3-1'], '-'))).toEqual([true, before]);
  });

  it('ack and finish: compares ids that numbers of Lua cannot hold', async () => {
    setUp();
    states.run('XGROUP', 'SETID', '@stream', 'other', '18446744073709551615-10');
    expect((await states.after(ack([IDS[3]])))[1].stream).toEqual(
      '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, [g after 18446744073709551615-9; s: 1-1 x1 2-1 x1 3-1 x1], [other after 18446744073709551615-10; o: 2-1 x1]',
    );
    setUp();
    states.run('XGROUP', 'SETID', '@stream', 'other', '18446744073709551615-8');
    expect((await states.after(end(row(IDS[3]))))[1].stream).toEqual(
      '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: 1-1 x1 2-1 x1 3-1 x1], [other after 18446744073709551615-8; o: 2-1 x1]',
    );
    setUp();
    states.run('XGROUP', 'SETID', '@stream', 'other', '18446744073709551615-9');
    expect((await states.after(end(row(IDS[3]))))[1].stream).toEqual(
      '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, [g after 18446744073709551615-9; s: 1-1 x1 2-1 x1 3-1 x1], [other after 18446744073709551615-9; o: 2-1 x1]',
    );
  });

  it('all: a session that was lost changes nothing', async () => {
    setUp();
    const before = states.keys();
    for (const session of ['lost', 'none']) {
      expect(await states.after(ack(['1-1'], 'g', session))).toEqual([false, before]);
      expect(await states.after(end(row('1-1'), 'g', session))).toEqual([
        { alive: false, released: 0, buried: 0 },
        before,
      ]);
      expect(await states.after(retry({ session }))).toEqual([false, before]);
      expect(await states.after(states.call(renewSession, { session, leaseMs: 5 }))).toEqual([false, before]);
    }
    expect(await states.after(states.call(renewSession, { session: 's', leaseMs: 5 }))).toEqual([
      true,
      {
        due: '7-7@1800000000009',
        sessions: 'lost@0, s@1800000000005',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: 1-1 x1 2-1 x1 3-1 x1 18446744073709551615-9 x1], [other after 2-1; o: 2-1 x1]',
        takes: 's=t1 1-1 2-1, x=t2',
        tries:
          '1-1=1 1799999999995 an error, 18446744073709551615-9=1 1799999999995 an error, 2-1=1 1799999999995 an error, 3-1=1 1799999999995 an error',
        woken: '1 | 700',
      },
    ]);
  });

  it('ack and finish: change nothing without the stream', async () => {
    setUp();
    states.put('DEL', 'stream');
    states.put('HSET', 'heads', 'k', '1-1');
    const before = states.keys();
    expect(await states.after(ack())).toEqual([true, before]);
    expect(await states.after(end(row('1-1', 'k')))).toEqual([{ alive: true, released: 0, buried: 0 }, before]);
  });

  it('ack and finish: the group itself does not keep what it has settled', async () => {
    for (const call of [() => ack(['1-1'], 'g'), () => end(row('1-1'), 'g')]) {
      setUp();
      states.run('XGROUP', 'DESTROY', '@stream', 'other');
      states.run('XGROUP', 'SETID', '@stream', 'g', '0');
      await call();
      expect(states.put('XLEN', 'stream')).toBe(3);
      setUp();
      states.run('XGROUP', 'SETID', '@stream', 'g', '0');
      await call();
      expect(states.put('XLEN', 'stream')).toBe(3);
    }
  });

  it('ack and finish: keep what somebody took out of the list of another group', async () => {
    for (const settle of [() => ack(['2-1']), () => end(row('2-1'))]) {
      setUp();
      states.put('SADD', 'unsettled of other', '2-1');
      states.put('XACK', 'stream', 'other', '2-1');
      await settle();
      expect(states.put('XLEN', 'stream')).toBe(4);
    }
  });

  it('finish: keeps a dead letter of an entry that somebody took out of the list', async () => {
    setUp();
    states.put('SADD', 'unsettled', ...IDS);
    states.run('XGROUP', 'DELCONSUMER', '@stream', 'g', 's');
    expect(await end(row('1-1', '', 'an error'))).toEqual({ alive: true, released: 0, buried: 1 });
    expect(await end(row('1-1', '', 'an error'))).toEqual({ alive: true, released: 0, buried: 0 });
    expect(states.put('SMEMBERS', 'unsettled')).not.toContain('1-1');
  });

  it.each(['g other third', '*'])('ack and finish: delete nothing while they need "%s"', async (needs) => {
    setUp();
    expect([await ack(['1-1'], needs), states.put('XLEN', 'stream')]).toEqual([true, 4]);
    setUp();
    expect([await end(row('1-1'), needs), states.put('XLEN', 'stream')]).toEqual([
      { alive: true, released: 0, buried: 0 },
      4,
    ]);
  });
});
