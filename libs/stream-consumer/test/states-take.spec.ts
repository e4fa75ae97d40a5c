import { each, NOW } from '../../../test/support/script-states';
import { takeEntries, takeOrdered } from '../src/consumer/consumer.scripts';
import { openTakes } from './states-takes';

describe.each([
  ['take', takeEntries, false],
  ['take-ordered', takeOrdered, true],
])('%s, in a state and at a time of which all is known,', (_name, script, isOrdered) => {
  const { states, take, after, add, withKey, setUp, readFor } = openTakes(script, isOrdered);

  it('takes new entries, and returns a replay those that still exist', async () => {
    setUp();
    for (const id of ['1-1', '2-1', '3-1']) add(id);
    states.clock.set(NOW + 0.25);
    expect(await after(take({ count: 2 }))).toEqual([
      'taken true -1 900 | 1-1 p1-1   1 1800000000000 | 2-1 p2-1   1 1800000000000',
      {
        sessions: 's@1800000000900',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, [g after 2-1; s: 1-1 x1 2-1 x1], [other after 0-0]',
        takes: 's=t1 1-1 2-1',
        unsettled: '1-1, 2-1',
      },
    ]);
    states.clock.set(NOW + 1);
    expect(await after(take({ count: 2 }))).toEqual([
      'taken true -1 900 | 1-1 p1-1   1 1800000000001 | 2-1 p2-1   1 1800000000001',
      {
        sessions: 's@1800000000901',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, [g after 2-1; s: 1-1 x1 2-1 x1], [other after 0-0]',
        takes: 's=t1 1-1 2-1',
        unsettled: '1-1, 2-1',
      },
    ]);
    states.put('XDEL', 'stream', '1-1');
    states.put('HSET', 'tries', '2-1', `2 ${NOW - 5} an error`);
    expect(await after(take({ begins: 0 }))).toEqual([
      'taken true -1 900 | 2-1 p2-1   3 1799999999995',
      {
        sessions: 's@1800000000901',
        stream: '2-1 payload=p2-1, 3-1 payload=p3-1, [g after 2-1; s: 1-1 x1 2-1 x1], [other after 0-0]',
        takes: 's=t1 1-1 2-1',
        tries: '2-1=2 1799999999995 an error',
        unsettled: '1-1, 2-1',
      },
    ]);
    expect(await after(take({ begins: 0, token: 't2' }))).toEqual([
      'taken false -1 900 | 3-1 p3-1   1 1800000000001',
      {
        sessions: 's@1800000000901',
        stream: '2-1 payload=p2-1, 3-1 payload=p3-1, [g after 3-1; s: 1-1 x1 2-1 x1 3-1 x1], [other after 0-0]',
        takes: 's=t2 3-1',
        tries: '2-1=2 1799999999995 an error',
        unsettled: '1-1, 2-1, 3-1',
      },
    ]);
    expect(await after(take({ begins: 0, token: 't3', leaseMs: 500 }))).toEqual([
      'taken false -1 500',
      {
        sessions: 's@1800000000501',
        stream: '2-1 payload=p2-1, 3-1 payload=p3-1, [g after 3-1; s: 1-1 x1 2-1 x1 3-1 x1], [other after 0-0]',
        takes: 's=t2 3-1',
        tries: '2-1=2 1799999999995 an error',
        unsettled: '1-1, 2-1, 3-1',
      },
    ]);
    expect(await after(take({ begins: 0, token: 't' }))).toEqual([
      'taken false -1 -1',
      {
        sessions: 's@1800000000501',
        stream: '2-1 payload=p2-1, 3-1 payload=p3-1, [g after 3-1; s: 1-1 x1 2-1 x1 3-1 x1], [other after 0-0]',
        takes: 's=t2 3-1',
        tries: '2-1=2 1799999999995 an error',
        unsettled: '1-1, 2-1, 3-1',
      },
    ]);
  });

  it('takes entries whose retry is due first', async () => {
    setUp();
    for (const id of ['1-1', '2-1', '3-1', '4-1', '5-1']) add(id);
    readFor('waiting');
    add('6-1');
    states.put('ZADD', 'due', NOW, '1-1', NOW + 1, '2-1', NOW - 1, '3-1', NOW - 2, '4-1', NOW - 3, '9-9');
    states.put('HSET', 'tries', '1-1', `2 ${NOW - 5} an error`, '3-1', 'x', '9-9', '1 1 x', '4-1', '7 8 y');
    states.put('XDEL', 'stream', '4-1');
    expect(await after(take({ count: 4 }))).toEqual([
      'taken true 1 900 | 3-1 p3-1   1 1800000000000 | 1-1 p1-1   3 1799999999995',
      {
        due: '2-1@1800000000001',
        sessions: 's@1800000000900',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 5-1 payload=p5-1, 6-1 payload=p6-1, [g after 5-1; s: 1-1 x2 3-1 x2; waiting: 2-1 x1 5-1 x1], [other after 0-0]',
        takes: 's=t1 3-1 1-1',
        tries: '1-1=2 1799999999995 an error, 3-1=x',
        unsettled: '1-1, 3-1',
      },
    ]);
    expect(await after(take({ count: 4 }))).toEqual([
      'taken true 1 900 | 3-1 p3-1   1 1800000000000 | 1-1 p1-1   3 1799999999995',
      {
        due: '2-1@1800000000001',
        sessions: 's@1800000000900',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 5-1 payload=p5-1, 6-1 payload=p6-1, [g after 5-1; s: 1-1 x2 3-1 x2; waiting: 2-1 x1 5-1 x1], [other after 0-0]',
        takes: 's=t1 3-1 1-1',
        tries: '1-1=2 1799999999995 an error, 3-1=x',
        unsettled: '1-1, 3-1',
      },
    ]);
    states.clock.set(NOW + 1);
    expect(await after(take({ count: 1, token: 't2' }))).toEqual([
      'taken true -1 900 | 2-1 p2-1   1 1800000000001',
      {
        sessions: 's@1800000000901',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 5-1 payload=p5-1, 6-1 payload=p6-1, [g after 5-1; s: 1-1 x2 2-1 x2 3-1 x2; waiting: 5-1 x1], [other after 0-0]',
        takes: 's=t2 2-1',
        tries: '1-1=2 1799999999995 an error, 3-1=x',
        unsettled: '1-1, 2-1, 3-1',
      },
    ]);
    expect(await after(take({ count: 1, token: 't3' }))).toEqual([
      'taken true -1 900 | 6-1 p6-1   1 1800000000001',
      {
        sessions: 's@1800000000901',
        stream:
          '1-1 payload=p1-1, 2-1 payload=p2-1, 3-1 payload=p3-1, 5-1 payload=p5-1, 6-1 payload=p6-1, [g after 6-1; s: 1-1 x2 2-1 x2 3-1 x2 6-1 x1; waiting: 5-1 x1], [other after 0-0]',
        takes: 's=t3 6-1',
        tries: '1-1=2 1799999999995 an error, 3-1=x',
        unsettled: '1-1, 2-1, 3-1, 6-1',
      },
    ]);
  });

  it('stops when the due entries are as many as it may take', async () => {
    setUp();
    add('1-1');
    readFor('waiting');
    add('2-1');
    states.put('ZADD', 'due', NOW, '1-1');
    expect(await after(take({ count: 1 }))).toEqual([
      'taken true -1 900 | 1-1 p1-1   1 1800000000000',
      {
        sessions: 's@1800000000900',
        stream: '1-1 payload=p1-1, 2-1 payload=p2-1, [g after 1-1; s: 1-1 x2; waiting: -], [other after 0-0]',
        takes: 's=t1 1-1',
        unsettled: '1-1',
      },
    ]);
    expect(await after(take({ count: 2, token: 't2' }))).toEqual([
      'taken false -1 900 | 2-1 p2-1   1 1800000000000',
      {
        sessions: 's@1800000000900',
        stream: '1-1 payload=p1-1, 2-1 payload=p2-1, [g after 2-1; s: 1-1 x2 2-1 x1; waiting: -], [other after 0-0]',
        takes: 's=t2 2-1',
        unsettled: '1-1, 2-1',
      },
    ]);
  });

  it('takes no more due entries than it may', async () => {
    setUp();
    for (const id of ['1-1', '2-1', '3-1']) add(id);
    readFor('waiting');
    states.put('ZADD', 'due', NOW - 3, '1-1', NOW - 2, '2-1', NOW - 1, '3-1');
    expect((await after(take({ count: 2, leaseMs: 3 })))[0]).toBe(
      `taken true 0 3 | 1-1 p1-1   1 ${NOW} | 2-1 p2-1   1 ${NOW}`,
    );
    expect(states.keys().due).toBe(`3-1@${NOW - 1}`);
  });

  it('reads entries with one field', async () => {
    setUp();
    add('1-1', ['key', 'k']);
    add('2-1', ['x', 'payload']);
    expect((await after(take()))[0]).toBe(`taken false -1 900 | 1-1  k  1 ${NOW} | 2-1    1 ${NOW}`);
  });

  it('gives entries of another group without an attempt', async () => {
    setUp();
    add('1-1', ['luanest:group', 'other', 'payload', 'x']);
    add('2-1', ['luanest:group', 'g', 'payload', 'y', 'key', 'k']);
    withKey('3-1', 'k2');
    add('4-1', ['luanest:group', 'other', 'key', 'k']);
    expect((await after(take()))[0]).toEqual(
      'taken false -1 900 | 1-1 x   0 1800000000000 | 4-1  k  0 1800000000000 | 2-1 y k  1 1800000000000 | 3-1 p3-1 k2 op 1 1800000000000',
    );
  });

  it.each([
    [
      'a session that was lost',
      '0',
      1,
      [
        'lost false -1 -1',
        { sessions: 's@0, x@1800000000003', stream: '1-1 payload=p1-1, [g after 0-0], [other after 0-0]' },
      ],
    ],
    [
      'a new session',
      undefined,
      1,
      [
        'taken false -1 3 | 1-1 p1-1   1 1800000000000',
        {
          sessions: 'x@1800000000003, s@1800000000900',
          stream: '1-1 payload=p1-1, [g after 1-1; s: 1-1 x1], [other after 0-0]',
          takes: 's=t1 1-1',
          unsettled: '1-1',
        },
      ],
    ],
    [
      'a session that Redis does not know',
      undefined,
      0,
      [
        'lost false -1 -1',
        { sessions: 'x@1800000000003', stream: '1-1 payload=p1-1, [g after 0-0], [other after 0-0]' },
      ],
    ],
    [
      'a session that goes on',
      '5',
      0,
      [
        'taken false -1 3 | 1-1 p1-1   1 1800000000000',
        {
          sessions: 'x@1800000000003, s@1800000000900',
          stream: '1-1 payload=p1-1, [g after 1-1; s: 1-1 x1], [other after 0-0]',
          takes: 's=t1 1-1',
          unsettled: '1-1',
        },
      ],
    ],
  ])('by %s', async (_, lease, begins, expected) => {
    setUp();
    add('1-1');
    if (lease !== undefined) states.put('ZADD', 'sessions', lease, 's');
    states.put('ZADD', 'sessions', NOW + 3, 'x');
    expect(await after(take({ begins }))).toEqual(expected);
  });

  it('finds no group', async () => {
    expect(await after(take())).toEqual(['no-group false -1 -1', {}]);
    states.put('ZADD', 'due', NOW, '1-1');
    expect(await after(take())).toEqual(['no-group false -1 -1', { due: '1-1@1800000000000' }]);
    states.put('ZADD', 'due', NOW + 5, '1-1');
    add('1-1');
    expect(await after(take())).toEqual([
      'no-group false -1 -1',
      { due: '1-1@1800000000005', stream: '1-1 payload=p1-1' },
    ]);
  });

  it('keeps its keys as long as the stream', async () => {
    setUp();
    withKey('1-1', 'k');
    states.put('ZADD', 'due', NOW + 5, '9-9');
    states.put('PEXPIRE', 'stream', 7_000);
    const [, { heads, due, ...keys }] = await states.after(take());
    expect([heads, due]).toEqual(isOrdered ? ['k=1-1 | 7000', `9-9@${NOW + 5} | 7000`] : [undefined, `9-9@${NOW + 5}`]);
    expect(keys).toEqual({
      sessions: 's@1800000000900 | 7000',
      stream: '1-1 payload=p1-1 key=k operation=op, [g after 1-1; s: 1-1 x1], [other after 0-0] | 7000',
      takes: 's=t1 1-1 | 7000',
      unsettled: '1-1 | 7000',
    });
  });

  it('fails before it changes anything if a key has another type', async () => {
    const keys = ['stream', 'sessions', 'takes', 'due', 'tries', 'unsettled', ...(isOrdered ? ['heads'] : [])];
    const before = () => {
      setUp();
      add('1-1');
      readFor('waiting');
      states.put('ZADD', 'due', NOW, '1-1');
      add('2-1');
    };
    expect(await states.withOtherTypes(keys, before, () => take())).toEqual(each(keys, 'error WRONGTYPE'));
  });
});
