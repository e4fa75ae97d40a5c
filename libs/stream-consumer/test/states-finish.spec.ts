import { NOW, ScriptStates } from '../../../test/support/script-states';
import { consumerScripts, finish } from '../src/consumer/consumer.scripts';

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
  const end = (rows: readonly string[], needs = 'g other', session = 's') =>
    states.call(
      finish,
      { group: 'g', session, needs, rows },
      { needed: needs === 'g other' ? ['unsettled', 'unsettled of other'] : [] },
    );
  const row = (id: string, key = '', problem = '') => [id, key, problem, '2', '33'];
  it('finish: settles entries, and keeps those with an error as dead letters', async () => {
    setUp();
    states.clock.set(NOW + 0.5);
    expect(await states.after(end([...row('1-1', '', 'an error'), ...row('2-1'), ...row('9-9', '', 'gone')]))).toEqual([
      { alive: true, released: 0, buried: 1 },
      {
        dead: '1800000000000-0 original-id=1-1 error=an error attempts=2 first-seen-ms=33 payload=p1-1',
        due: '7-7@1800000000009',
        sessions: 'lost@0, s@1800000000050',
        stream:
          '2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: 3-1 x1 18446744073709551615-9 x1], [other after 2-1; o: 2-1 x1]',
        takes: 's=t1 1-1 2-1, x=t2',
        tries: '18446744073709551615-9=1 1799999999995 an error, 3-1=1 1799999999995 an error',
        woken: '1 | 700',
      },
    ]);
    setUp();
    states.put('PEXPIRE', 'stream', 7_000);
    states.put('XDEL', 'stream', '1-1');
    expect(await states.after(end([...row('1-1', '', 'e1'), ...row('3-1', '', 'e3')], '*'))).toEqual([
      { alive: true, released: 0, buried: 1 },
      {
        dead: '1800000000000-0 original-id=3-1 error=e3 attempts=2 first-seen-ms=33 payload=p3-1 | 7000',
        due: '7-7@1800000000009 | 7000',
        sessions: 'lost@0, s@1800000000050',
        stream:
          '2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: 2-1 x1 18446744073709551615-9 x1], [other after 2-1; o: 2-1 x1] | 7000',
        takes: 's=t1 1-1 2-1, x=t2',
        tries: '18446744073709551615-9=1 1799999999995 an error, 2-1=1 1799999999995 an error',
        woken: '1 | 700',
      },
    ]);
  });

  it('finish: packs the fields of a dead letter that has too many', async () => {
    const bury = async (count: number) => {
      setUp();
      const fields = Array.from({ length: count }, (_, at) => [`f${at}`, 'v']).flat();
      states.run('XGROUP', 'SETID', '@stream', 'g', '$');
      states.put('DEL', 'stream');
      states.put('XADD', 'stream', '1-1', 'luanest:group', 'g', ...fields);
      states.run('XGROUP', 'CREATE', '@stream', 'g', '0');
      states.run('XREADGROUP', 'GROUP', 'g', 's', 'STREAMS', '@stream', '>');
      await end(row('1-1', '', 'e'));
      const [[, dead]] = states.run('XRANGE', '@dead', '-', '+') as [[string, string[]]];
      return [dead.length, dead[8], (dead[9] ?? '').slice(0, 20)];
    };
    expect([await bury(449), await bury(450)]).toEqual([
      [908, 'luanest:group', 'g'],
      [10, 'luanest:fields', '2:f01:v2:f11:v2:f21:'],
    ]);
  });

  describe('finish: keys', () => {
    /** The entry 1-1 is the head of the key k; 2-1 and 3-1 are parked behind it. */
    const park = () => {
      setUp();
      states.put('HSET', 'heads', 'k', '1-1');
      for (const id of ['2-1', '3-1']) states.run('XCLAIM', '@stream', 'g', 'parked k', 0, id, 'JUSTID');
    };

    it('releases the next entry of a key', async () => {
      park();
      expect(await states.after(end(row('1-1', 'k')))).toEqual([
        { alive: true, released: 1, buried: 0 },
        {
          due: '2-1@1800000000000, 7-7@1800000000009',
          heads: 'k=2-1',
          sessions: 'lost@0, s@1800000000050',
          stream:
            '2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; parked k: 3-1 x1; s: 18446744073709551615-9 x1; waiting: 2-1 x1], [other after 2-1; o: 2-1 x1]',
          takes: 's=t1 1-1 2-1, x=t2',
          tries:
            '18446744073709551615-9=1 1799999999995 an error, 2-1=1 1799999999995 an error, 3-1=1 1799999999995 an error',
          woken: '1 | 700',
        },
      ]);
      expect(await states.after(end([...row('2-1', 'k'), ...row('2-1', 'k')]))).toEqual([
        { alive: true, released: 1, buried: 0 },
        {
          due: '2-1@1800000000000, 3-1@1800000000000, 7-7@1800000000009',
          heads: 'k=3-1',
          sessions: 'lost@0, s@1800000000050',
          stream:
            '2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: 18446744073709551615-9 x1; waiting: 3-1 x1], [other after 2-1; o: 2-1 x1]',
          takes: 's=t1 1-1 2-1, x=t2',
          tries: '18446744073709551615-9=1 1799999999995 an error, 3-1=1 1799999999995 an error',
          woken: '1 | 700',
        },
      ]);
      expect(await states.after(end(row('3-1', 'k')))).toEqual([
        { alive: true, released: 0, buried: 0 },
        {
          due: '2-1@1800000000000, 3-1@1800000000000, 7-7@1800000000009',
          sessions: 'lost@0, s@1800000000050',
          stream:
            '2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: 18446744073709551615-9 x1; waiting: -], [other after 2-1; o: 2-1 x1]',
          takes: 's=t1 1-1 2-1, x=t2',
          tries: '18446744073709551615-9=1 1799999999995 an error',
          woken: '1 | 700',
        },
      ]);
    });

    it('releases nothing for an entry that is not the head, and for one without a key', async () => {
      park();
      expect((await states.after(end(row('2-1', 'k'))))[0]).toEqual({ alive: true, released: 0, buried: 0 });
      expect((await states.after(end(row('2-1', 'x'))))[0]).toEqual({ alive: true, released: 0, buried: 0 });
      states.put('HSET', 'heads', '', '3-1');
      expect(await states.after(end(row('3-1')))).toEqual([
        { alive: true, released: 0, buried: 0 },
        {
          due: '7-7@1800000000009',
          heads: '=3-1, k=1-1',
          sessions: 'lost@0, s@1800000000050',
          stream:
            '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; parked k: -; s: 1-1 x1 18446744073709551615-9 x1], [other after 2-1; o: 2-1 x1]',
          takes: 's=t1 1-1 2-1, x=t2',
          tries: '1-1=1 1799999999995 an error, 18446744073709551615-9=1 1799999999995 an error',
          woken: '1 | 700',
        },
      ]);
    });

    it('skips parked entries that were deleted, up to 100', async () => {
      park();
      states.put('XDEL', 'stream', '2-1');
      expect(await states.after(end(row('1-1', 'k')))).toEqual([
        { alive: true, released: 1, buried: 0 },
        {
          due: '3-1@1800000000000, 7-7@1800000000009',
          heads: 'k=3-1',
          sessions: 'lost@0, s@1800000000050',
          stream:
            '3-1 payload=p3-1, 18446744073709551615-9 payload=p18446744073709551615-9, [g after 18446744073709551615-9; s: 18446744073709551615-9 x1; waiting: 3-1 x1], [other after 2-1; o: 2-1 x1]',
          takes: 's=t1 1-1 2-1, x=t2',
          tries:
            '18446744073709551615-9=1 1799999999995 an error, 2-1=1 1799999999995 an error, 3-1=1 1799999999995 an error',
          woken: '1 | 700',
        },
      ]);
      for (const gone of [99, 100]) {
        park();
        states.run('XGROUP', 'DESTROY', '@stream', 'g');
        states.run('XGROUP', 'CREATE', '@stream', 'g', '18446744073709551615-9');
        states.put('DEL', 'stream');
        states.run('XGROUP', 'CREATE', '@stream', 'g', '0', 'MKSTREAM');
        for (let at = 1; at <= gone + 2; at++) states.put('XADD', 'stream', `${at}-1`, 'payload', 'p');
        states.run('XREADGROUP', 'GROUP', 'g', 'parked k', 'STREAMS', '@stream', '>');
        states.run('XCLAIM', '@stream', 'g', 's', 0, '1-1');
        for (let at = 2; at <= gone + 1; at++) states.put('XDEL', 'stream', `${at}-1`);
        const [reply, { heads }] = await states.after(end(row('1-1', 'k')));
        expect([gone, reply, heads]).toEqual(
          gone === 99
            ? [99, { alive: true, released: 1, buried: 0 }, 'k=101-1']
            : [100, { alive: true, released: 0, buried: 0 }, 'k=1-1'],
        );
      }
    });

    it('sets the TTL of what it writes', async () => {
      park();
      states.put('PEXPIRE', 'stream', 7_000);
      expect((await states.after(end(row('1-1', 'k'))))[1].due).toEqual('2-1@1800000000000, 7-7@1800000000009 | 7000');
    });
  });
});
