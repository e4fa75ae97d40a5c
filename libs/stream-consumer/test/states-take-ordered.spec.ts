import { NOW } from '../../../test/support/script-states';
import { takeOrdered } from '../src/consumer/consumer.scripts';
import { openTakes } from './states-takes';

describe('take-ordered, in a state and at a time of which all is known,', () => {
  const { states, take, after, add, withKey, setUp } = openTakes(takeOrdered, true);

  it('parks what follows an entry that somebody took out of the list of pending entries', async () => {
    setUp();
    withKey('1-1', 'a');
    await take();
    states.run('XGROUP', 'DELCONSUMER', '@stream', 'g', 's');
    withKey('2-1', 'a');
    withKey('3-1', 'b');
    const [reply, keys] = await after(take({ session: 'another', token: 't2' }));
    expect(reply).toBe('taken false -1 900 | 3-1 p3-1 b op 1 1800000000000');
    expect(keys).toMatchObject({ heads: 'a=1-1, b=3-1', unsettled: '1-1, 2-1, 3-1' });
    // A head that was deleted blocks nothing.
    states.put('XDEL', 'stream', '1-1');
    states.run('XACK', '@stream', 'g', '2-1');
    withKey('4-1', 'a');
    expect((await after(take({ session: 'another', token: 't3' })))[0]).toBe(
      'taken false -1 900 | 4-1 p4-1 a op 1 1800000000000',
    );
  });

  it('takes one entry of a key at a time', async () => {
    setUp();
    withKey('1-1', 'a');
    withKey('2-1', 'a');
    withKey('3-1', 'b');
    add('4-1');
    withKey('5-1', 'a', 'luanest:group', 'other');
    expect(await after(take())).toEqual([
      'taken false -1 900 | 5-1 p5-1 a op 0 1800000000000 | 1-1 p1-1 a op 1 1800000000000 | 3-1 p3-1 b op 1 1800000000000 | 4-1 p4-1   1 1800000000000',
      {
        heads: 'a=1-1, b=3-1',
        sessions: 's@1800000000900',
        stream:
          '1-1 payload=p1-1 key=a operation=op, 2-1 payload=p2-1 key=a operation=op, 3-1 payload=p3-1 key=b operation=op, 4-1 payload=p4-1, 5-1 payload=p5-1 key=a operation=op luanest:group=other, [g after 5-1; parked a: 2-1 x1; s: 1-1 x1 3-1 x1 4-1 x1 5-1 x1], [other after 0-0]',
        takes: 's=t1 1-1 3-1 4-1 5-1',
        unsettled: '1-1, 2-1, 3-1, 4-1, 5-1',
      },
    ]);
    expect(await after(take())).toEqual([
      'taken true -1 900 | 5-1 p5-1 a op 0 1800000000000 | 1-1 p1-1 a op 1 1800000000000 | 3-1 p3-1 b op 1 1800000000000 | 4-1 p4-1   1 1800000000000',
      {
        heads: 'a=1-1, b=3-1',
        sessions: 's@1800000000900',
        stream:
          '1-1 payload=p1-1 key=a operation=op, 2-1 payload=p2-1 key=a operation=op, 3-1 payload=p3-1 key=b operation=op, 4-1 payload=p4-1, 5-1 payload=p5-1 key=a operation=op luanest:group=other, [g after 5-1; parked a: 2-1 x1; s: 1-1 x1 3-1 x1 4-1 x1 5-1 x1], [other after 0-0]',
        takes: 's=t1 1-1 3-1 4-1 5-1',
        unsettled: '1-1, 2-1, 3-1, 4-1, 5-1',
      },
    ]);
    withKey('6-1', 'b');
    add('7-1');
    expect(await after(take({ token: 't2', count: 1 }))).toEqual([
      'taken true -1 900 | 7-1 p7-1   1 1800000000000',
      {
        heads: 'a=1-1, b=3-1',
        sessions: 's@1800000000900',
        stream:
          '1-1 payload=p1-1 key=a operation=op, 2-1 payload=p2-1 key=a operation=op, 3-1 payload=p3-1 key=b operation=op, 4-1 payload=p4-1, 5-1 payload=p5-1 key=a operation=op luanest:group=other, 6-1 payload=p6-1 key=b operation=op, 7-1 payload=p7-1, [g after 7-1; parked a: 2-1 x1; parked b: 6-1 x1; s: 1-1 x1 3-1 x1 4-1 x1 5-1 x1 7-1 x1], [other after 0-0]',
        takes: 's=t2 7-1',
        unsettled: '1-1, 2-1, 3-1, 4-1, 5-1, 6-1, 7-1',
      },
    ]);
  });

  it('reads no new entries with too many keys', async () => {
    setUp();
    for (let at = 1; at < 6; at++) withKey(`${at}-1`, `k${at}`);
    expect(await after(take({ count: 1, maxKeys: 2 }))).toEqual([
      'taken true -1 900 | 1-1 p1-1 k1 op 1 1800000000000',
      {
        heads: 'k1=1-1',
        sessions: 's@1800000000900',
        stream:
          '1-1 payload=p1-1 key=k1 operation=op, 2-1 payload=p2-1 key=k2 operation=op, 3-1 payload=p3-1 key=k3 operation=op, 4-1 payload=p4-1 key=k4 operation=op, 5-1 payload=p5-1 key=k5 operation=op, [g after 1-1; s: 1-1 x1], [other after 0-0]',
        takes: 's=t1 1-1',
        unsettled: '1-1',
      },
    ]);
    expect(await after(take({ count: 3, maxKeys: 2, token: 't2' }))).toEqual([
      'taken true -1 900 | 2-1 p2-1 k2 op 1 1800000000000 | 3-1 p3-1 k3 op 1 1800000000000 | 4-1 p4-1 k4 op 1 1800000000000',
      {
        heads: 'k1=1-1, k2=2-1, k3=3-1, k4=4-1',
        sessions: 's@1800000000900',
        stream:
          '1-1 payload=p1-1 key=k1 operation=op, 2-1 payload=p2-1 key=k2 operation=op, 3-1 payload=p3-1 key=k3 operation=op, 4-1 payload=p4-1 key=k4 operation=op, 5-1 payload=p5-1 key=k5 operation=op, [g after 4-1; s: 1-1 x1 2-1 x1 3-1 x1 4-1 x1], [other after 0-0]',
        takes: 's=t2 2-1 3-1 4-1',
        unsettled: '1-1, 2-1, 3-1, 4-1',
      },
    ]);
    expect(await after(take({ count: 3, maxKeys: 2, token: 't3' }))).toEqual([
      'taken false -1 900',
      {
        heads: 'k1=1-1, k2=2-1, k3=3-1, k4=4-1',
        sessions: 's@1800000000900',
        stream:
          '1-1 payload=p1-1 key=k1 operation=op, 2-1 payload=p2-1 key=k2 operation=op, 3-1 payload=p3-1 key=k3 operation=op, 4-1 payload=p4-1 key=k4 operation=op, 5-1 payload=p5-1 key=k5 operation=op, [g after 4-1; s: 1-1 x1 2-1 x1 3-1 x1 4-1 x1], [other after 0-0]',
        takes: 's=t2 2-1 3-1 4-1',
        unsettled: '1-1, 2-1, 3-1, 4-1',
      },
    ]);
    expect(await after(take({ count: 3, maxKeys: 3, token: 't4' }))).toEqual([
      'taken false -1 900',
      {
        heads: 'k1=1-1, k2=2-1, k3=3-1, k4=4-1',
        sessions: 's@1800000000900',
        stream:
          '1-1 payload=p1-1 key=k1 operation=op, 2-1 payload=p2-1 key=k2 operation=op, 3-1 payload=p3-1 key=k3 operation=op, 4-1 payload=p4-1 key=k4 operation=op, 5-1 payload=p5-1 key=k5 operation=op, [g after 4-1; s: 1-1 x1 2-1 x1 3-1 x1 4-1 x1], [other after 0-0]',
        takes: 's=t2 2-1 3-1 4-1',
        unsettled: '1-1, 2-1, 3-1, 4-1',
      },
    ]);
  });

  it('reads nothing more with as many keys as it may have', async () => {
    setUp();
    for (let at = 1; at < 6; at++) withKey(`${at}-1`, `k${at}`);
    await take({ count: 2 });
    const before = states.put('HGETALL', 'heads');
    expect((await after(take({ count: 3, maxKeys: 2, token: 't2' })))[0]).toBe('taken false -1 900');
    expect(states.put('HGETALL', 'heads')).toEqual(before);
  });

  it('parks an entry behind one that is parked, although the head of their key is lost', async () => {
    setUp();
    withKey('1-1', 'a');
    withKey('2-1', 'a');
    await take();
    states.put('HDEL', 'heads', 'a');
    withKey('3-1', 'a');
    expect((await after(take({ token: 't2' })))[0]).toBe('taken false -1 900');
    expect(states.put('HGETALL', 'heads')).toEqual([]);
  });

  it('reads up to four times, while entries are parked', async () => {
    setUp();
    withKey('1-1', 'a');
    await take();
    for (let at = 2; at < 30; at++) withKey(`${at}-1`, 'a');
    expect(await after(take({ token: 't2', count: 2 }))).toEqual([
      'taken true -1 900',
      {
        heads: 'a=1-1',
        sessions: 's@1800000000900',
        stream:
          '1-1 payload=p1-1 key=a operation=op, 2-1 payload=p2-1 key=a operation=op, 3-1 payload=p3-1 key=a operation=op, 4-1 payload=p4-1 key=a operation=op, 5-1 payload=p5-1 key=a operation=op, 6-1 payload=p6-1 key=a operation=op, 7-1 payload=p7-1 key=a operation=op, 8-1 payload=p8-1 key=a operation=op, 9-1 payload=p9-1 key=a operation=op, 10-1 payload=p10-1 key=a operation=op, 11-1 payload=p11-1 key=a operation=op, 12-1 payload=p12-1 key=a operation=op, 13-1 payload=p13-1 key=a operation=op, 14-1 payload=p14-1 key=a operation=op, 15-1 payload=p15-1 key=a operation=op, 16-1 payload=p16-1 key=a operation=op, 17-1 payload=p17-1 key=a operation=op, 18-1 payload=p18-1 key=a operation=op, 19-1 payload=p19-1 key=a operation=op, 20-1 payload=p20-1 key=a operation=op, 21-1 payload=p21-1 key=a operation=op, 22-1 payload=p22-1 key=a operation=op, 23-1 payload=p23-1 key=a operation=op, 24-1 payload=p24-1 key=a operation=op, 25-1 payload=p25-1 key=a operation=op, 26-1 payload=p26-1 key=a operation=op, 27-1 payload=p27-1 key=a operation=op, 28-1 payload=p28-1 key=a operation=op, 29-1 payload=p29-1 key=a operation=op, [g after 9-1; parked a: 2-1 x1 3-1 x1 4-1 x1 5-1 x1 6-1 x1 7-1 x1 8-1 x1 9-1 x1; s: 1-1 x1], [other after 0-0]',
        takes: 's=t1 1-1',
        unsettled: '1-1, 2-1, 3-1, 4-1, 5-1, 6-1, 7-1, 8-1, 9-1',
      },
    ]);
    expect(await after(take({ token: 't3', count: 7 }))).toEqual([
      'taken false -1 900',
      {
        heads: 'a=1-1',
        sessions: 's@1800000000900',
        stream:
          '1-1 payload=p1-1 key=a operation=op, 2-1 payload=p2-1 key=a operation=op, 3-1 payload=p3-1 key=a operation=op, 4-1 payload=p4-1 key=a operation=op, 5-1 payload=p5-1 key=a operation=op, 6-1 payload=p6-1 key=a operation=op, 7-1 payload=p7-1 key=a operation=op, 8-1 payload=p8-1 key=a operation=op, 9-1 payload=p9-1 key=a operation=op, 10-1 payload=p10-1 key=a operation=op, 11-1 payload=p11-1 key=a operation=op, 12-1 payload=p12-1 key=a operation=op, 13-1 payload=p13-1 key=a operation=op, 14-1 payload=p14-1 key=a operation=op, 15-1 payload=p15-1 key=a operation=op, 16-1 payload=p16-1 key=a operation=op, 17-1 payload=p17-1 key=a operation=op, 18-1 payload=p18-1 key=a operation=op, 19-1 payload=p19-1 key=a operation=op, 20-1 payload=p20-1 key=a operation=op, 21-1 payload=p21-1 key=a operation=op, 22-1 payload=p22-1 key=a operation=op, 23-1 payload=p23-1 key=a operation=op, 24-1 payload=p24-1 key=a operation=op, 25-1 payload=p25-1 key=a operation=op, 26-1 payload=p26-1 key=a operation=op, 27-1 payload=p27-1 key=a operation=op, 28-1 payload=p28-1 key=a operation=op, 29-1 payload=p29-1 key=a operation=op, [g after 29-1; parked a: 2-1 x1 3-1 x1 4-1 x1 5-1 x1 6-1 x1 7-1 x1 8-1 x1 9-1 x1 10-1 x1 11-1 x1 12-1 x1 13-1 x1 14-1 x1 15-1 x1 16-1 x1 17-1 x1 18-1 x1 19-1 x1 20-1 x1 21-1 x1 22-1 x1 23-1 x1 24-1 x1 25-1 x1 26-1 x1 27-1 x1 28-1 x1 29-1 x1; s: 1-1 x1], [other after 0-0]',
        takes: 's=t1 1-1',
        unsettled:
          '1-1, 10-1, 11-1, 12-1, 13-1, 14-1, 15-1, 16-1, 17-1, 18-1, 19-1, 2-1, 20-1, 21-1, 22-1, 23-1, 24-1, 25-1, 26-1, 27-1, 28-1, 29-1, 3-1, 4-1, 5-1, 6-1, 7-1, 8-1, 9-1',
      },
    ]);
  });

  it('makes an entry the head of its key if it is the oldest', async () => {
    setUp();
    withKey('1-1', 'a');
    withKey('2-1', 'a');
    withKey('10-1', 'b');
    withKey('11-1', 'b');
    await take({ count: 9 });
    // The head is lost, and another entry is due.
    states.put('HDEL', 'heads', 'a');
    states.run('XCLAIM', '@stream', 'g', 'waiting', 0, '1-1');
    states.put('ZADD', 'due', NOW, '1-1', NOW, '11-1');
    expect(await after(take({ token: 't2' }))).toEqual([
      'taken false -1 900 | 1-1 p1-1 a op 1 1800000000000',
      {
        heads: 'a=1-1, b=10-1',
        sessions: 's@1800000000900',
        stream:
          '1-1 payload=p1-1 key=a operation=op, 2-1 payload=p2-1 key=a operation=op, 10-1 payload=p10-1 key=b operation=op, 11-1 payload=p11-1 key=b operation=op, [g after 11-1; parked a: 2-1 x1; parked b: 11-1 x2; s: 1-1 x3 10-1 x1; waiting: -], [other after 0-0]',
        takes: 's=t2 1-1',
        unsettled: '1-1, 10-1, 11-1, 2-1',
      },
    ]);
    states.put('HDEL', 'heads', 'a');
    states.put('ZADD', 'due', NOW, '2-1');
    expect(await after(take({ token: 't3' }))).toEqual([
      'taken false -1 900 | 2-1 p2-1 a op 1 1800000000000',
      {
        heads: 'a=2-1, b=10-1',
        sessions: 's@1800000000900',
        stream:
          '1-1 payload=p1-1 key=a operation=op, 2-1 payload=p2-1 key=a operation=op, 10-1 payload=p10-1 key=b operation=op, 11-1 payload=p11-1 key=b operation=op, [g after 11-1; parked a: -; parked b: 11-1 x2; s: 1-1 x3 2-1 x2 10-1 x1; waiting: -], [other after 0-0]',
        takes: 's=t3 2-1',
        unsettled: '1-1, 10-1, 11-1, 2-1',
      },
    ]);
    withKey('12-1', 'a');
    states.put('HDEL', 'heads', 'a');
    expect(await after(take({ token: 't4' }))).toEqual([
      'taken false -1 900 | 12-1 p12-1 a op 1 1800000000000',
      {
        heads: 'a=12-1, b=10-1',
        sessions: 's@1800000000900',
        stream:
          '1-1 payload=p1-1 key=a operation=op, 2-1 payload=p2-1 key=a operation=op, 10-1 payload=p10-1 key=b operation=op, 11-1 payload=p11-1 key=b operation=op, 12-1 payload=p12-1 key=a operation=op, [g after 12-1; parked a: -; parked b: 11-1 x2; s: 1-1 x3 2-1 x2 10-1 x1 12-1 x1; waiting: -], [other after 0-0]',
        takes: 's=t4 12-1',
        unsettled: '1-1, 10-1, 11-1, 12-1, 2-1',
      },
    ]);
    // A head that is not pending any more.
    states.put('HSET', 'heads', 'c', '5-5');
    withKey('13-1', 'c');
    expect(await after(take({ token: 't5' }))).toEqual([
      'taken false -1 900 | 13-1 p13-1 c op 1 1800000000000',
      {
        heads: 'a=12-1, b=10-1, c=13-1',
        sessions: 's@1800000000900',
        stream:
          '1-1 payload=p1-1 key=a operation=op, 2-1 payload=p2-1 key=a operation=op, 10-1 payload=p10-1 key=b operation=op, 11-1 payload=p11-1 key=b operation=op, 12-1 payload=p12-1 key=a operation=op, 13-1 payload=p13-1 key=c operation=op, [g after 13-1; parked a: -; parked b: 11-1 x2; s: 1-1 x3 2-1 x2 10-1 x1 12-1 x1 13-1 x1; waiting: -], [other after 0-0]',
        takes: 's=t5 13-1',
        unsettled: '1-1, 10-1, 11-1, 12-1, 13-1, 2-1',
      },
    ]);
  });
});
