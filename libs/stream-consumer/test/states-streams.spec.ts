import { each, NOW, ScriptStates } from '../../../test/support/script-states';
import {
  announcePartitions,
  dropDead,
  listDead,
  listDeadForeign,
  listGroups,
  pauseGroup,
  publishMessage,
  purgeStream,
  removeGroup,
  replayDead,
  streamScripts,
  withdrawGroup,
} from '../src/streams/streams.scripts';

describe('each script of a stream, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates(streamScripts, ['woken']);
  const publish = (args: object = {}) =>
    states.call(publishMessage, { payload: 'p', key: '', name: '', retainMs: 500, maxLength: 0, ...args });
  const clear = () => {
    for (const name of Object.keys(states.keys())) states.put('DEL', name);
  };

  it('publish: adds a message, and returns a replay the first id', async () => {
    states.put('DEL', 'woken');
    expect(await states.after(publish())).toEqual([
      { status: 1, id: '1800000000000-0' },
      {
        operation: '1800000000000-0 | 500',
        stream: '1800000000000-0 payload=p',
        published: 'published',
        woken: '1 | 5000',
      },
    ]);
    states.clock.set(NOW + 1);
    expect(await states.after(publish())).toEqual([
      { status: 2, id: '1800000000000-0' },
      { operation: '1800000000000-0 | 499', stream: '1800000000000-0 payload=p', woken: '1 | 4999' },
    ]);
    states.put('DEL', 'operation');
    expect(await states.after(publish({ key: 'k' }))).toEqual([
      { status: 1, id: '1800000000001-0' },
      {
        operation: '1800000000001-0 | 500',
        stream: '1800000000000-0 payload=p, 1800000000001-0 payload=p key=k operation=',
        woken: '1 | 4999',
      },
    ]);
    states.put('DEL', 'operation');
    expect(await states.after(publish({ name: 'n' }))).toEqual([
      { status: 1, id: '1800000000001-1' },
      {
        operation: '1800000000001-1 | 500',
        stream:
          '1800000000000-0 payload=p, 1800000000001-0 payload=p key=k operation=, 1800000000001-1 payload=p key= operation=n',
        woken: '1 | 4999',
      },
    ]);
  });

  it('publish: adds nothing to a stream that is full', async () => {
    expect((await states.after(publish({ maxLength: 1 })))[0]).toEqual({ status: 1, id: '1800000000000-0' });
    states.put('DEL', 'operation');
    states.put('DEL', 'woken');
    const before = states.keys();
    expect(await states.after(publish({ maxLength: 1 }))).toEqual([{ status: 0, id: '1' }, before]);
    expect(await publish({ maxLength: 2 })).toMatchObject({ status: 1 });
    const keys = ['stream', 'operation'];
    expect(
      await states.withOtherTypes(
        keys,
        () => undefined,
        () => publish(),
      ),
    ).toEqual(each(keys, 'error WRONGTYPE'));
  });

  it('announce and withdraw: note the most partitions, and the groups', async () => {
    const announce = (partitions: number, group: string) =>
      states.call(announcePartitions, { partitions, group, paused: 0 });
    expect(await states.after(announce(2, ''))).toEqual([
      { partitions: 2, paused: [], groups: [] },
      { config: 'partitions=2' },
    ]);
    expect(await states.after(announce(1, 'a'))).toEqual([
      { partitions: 2, paused: [], groups: ['a'] },
      { config: 'group:a=1, partitions=2' },
    ]);
    expect(await states.after(announce(3, 'b'))).toEqual([
      { partitions: 3, paused: [], groups: ['a', 'b'] },
      { config: 'group:a=1, group:b=1, partitions=3' },
    ]);
    states.put('HSET', 'config', 'partitions', 'x');
    expect(await states.after(announce(1, ''))).toEqual([
      { partitions: 1, paused: [], groups: ['a', 'b'] },
      { config: 'group:a=1, group:b=1, partitions=1' },
    ]);
    expect(await states.after(states.call(withdrawGroup, { group: 'a' }))).toEqual([
      true,
      { config: 'group:b=1, partitions=1' },
    ]);
    expect(await states.call(withdrawGroup, { group: 'a' })).toBe(false);
  });

  it('pause, announce and withdraw: know which groups are paused', async () => {
    clear();
    const pause = (action: string, group = 'a') => states.call(pauseGroup, { group, action });
    const announce = (group: string, paused: number) =>
      states.call(announcePartitions, { partitions: 1, group, paused });
    expect(await states.after(pause('read'))).toEqual([false, {}]);
    expect(await states.after(pause('pause'))).toEqual([true, { config: 'paused:a=1' }]);
    expect(await states.after(pause('pause'))).toEqual([true, { config: 'paused:a=1' }]);
    expect(await states.after(pause('read'))).toEqual([true, { config: 'paused:a=1' }]);
    expect(await states.after(pause('keep'))).toEqual([true, { config: 'paused:a=1' }]);
    expect(await states.after(announce('b', 1))).toEqual([
      { partitions: 1, paused: ['a', 'b'], groups: ['b'] },
      { config: 'group:b=1, partitions=1, paused:a=1, paused:b=1' },
    ]);
    expect(await states.after(pause('resume', 'b'))).toEqual([
      false,
      { config: 'group:b=1, partitions=1, paused:a=1, paused:b=0' },
    ]);
    expect(await pause('keep', 'b')).toBe(false);
    expect(await announce('b', 1)).toEqual({ partitions: 1, paused: ['a'], groups: ['b'] });
    expect(await states.after(states.call(withdrawGroup, { group: 'b' }))).toEqual([
      true,
      { config: 'partitions=1, paused:a=1' },
    ]);
    clear();
    expect(await states.after(pause('keep'))).toEqual([true, { config: 'paused:a=1' }]);
    expect(await states.after(pause('read', 'b'))).toEqual([false, { config: 'paused:a=1' }]);
  });

  it('list-groups and remove-group: know groups', async () => {
    const remove = (group: string) => states.call(removeGroup, { group });
    const list = () => states.call(listGroups, {});
    const names = ['sessions', 'takes', 'due', 'tries', 'heads', 'dead', 'unsettled'];
    const setUp = () => {
      clear();
      for (const name of names) states.put('SET', name, 'x');
      for (const group of ['a', 'b']) states.run('XGROUP', 'CREATE', '@stream', group, '0', 'MKSTREAM');
    };
    expect(await list()).toEqual([]);
    setUp();
    expect(await list()).toEqual(['a', 'b']);
    expect(await states.after(remove('a'))).toEqual([true, { stream: '[b after 0-0]' }]);
    setUp();
    expect(await states.after(remove('none'))).toEqual([false, { stream: '[a after 0-0], [b after 0-0]' }]);
    setUp();
    states.put('DEL', 'stream');
    expect(await states.after(remove('a'))).toEqual([false, {}]);
    const keys = ['stream'];
    expect(await states.withOtherTypes(keys, setUp, () => remove('a'))).toEqual(each(keys, 'error WRONGTYPE'));
    expect(await states.withOtherTypes(keys, setUp, list)).toEqual(each(keys, 'error WRONGTYPE'));
  });

  describe('dead letters', () => {
    const setUp = () => {
      clear();
      const about = ['original-id', '7-7', 'error', 'an error', 'attempts', '3', 'first-seen-ms', '44'];
      states.put('XADD', 'dead', '1-1', ...about, 'payload', 'p1', 'key', 'k', 'operation', 'o');
      states.put('XADD', 'dead', '2-1', ...about, 'luanest:group', 'x', 'payload', 'p2');
      states.put('XADD', 'dead', '3-1', ...about, 'a', 'b', 'c', 'd');
      states.put('XADD', 'dead', '4-1', ...about, 'luanest:fields', '1:a1:b3:key2:kk');
    };
    const list = (after: string, until: string, count: number) => states.call(listDead, { after, until, count });
    const replay = (...ids: string[]) => states.call(replayDead, { group: 'g', ids });

    it('list-dead: reads a page', async () => {
      expect(await list('0', '+', 5)).toEqual(['']);
      setUp();
      expect(await list('0', '+', 1)).toEqual(['4-1', '1-1', 'p1', 'k', 'o', '7-7', 'an error', '3', '44']);
      expect(await list('1-1', '3-1', 9)).toEqual([
        '3-1',
        '2-1',
        'p2',
        '',
        '',
        '7-7',
        'an error',
        '3',
        '44',
        '3-1',
        '',
        '',
        '',
        '7-7',
        'an error',
        '3',
        '44',
      ]);
      expect(await list('4-1', '+', 9)).toEqual(['']);
      const foreign = (await states.call(listDeadForeign, { after: '2-1', until: '+', count: 9 })) as Buffer[];
      expect(foreign.map(String)).toEqual([
        '4-1',
        '3-1',
        '1:a1:b1:c1:d',
        '',
        '',
        '7-7',
        'an error',
        '3',
        '44',
        '4-1',
        '1:a1:b3:key2:kk',
        'kk',
        '',
        '7-7',
        'an error',
        '3',
        '44',
      ]);
    });

    it('replay-dead: publishes again for the group', async () => {
      setUp();
      states.put('DEL', 'woken');
      expect(await states.after(replay('1-1', '9-9', '2-1'))).toEqual([
        2,
        {
          dead: '3-1 original-id=7-7 error=an error attempts=3 first-seen-ms=44 a=b c=d, 4-1 original-id=7-7 error=an error attempts=3 first-seen-ms=44 luanest:fields=1:a1:b3:key2:kk',
          stream:
            '1800000000000-0 luanest:group=g payload=p1 key=k operation=o, 1800000000000-1 luanest:group=g payload=p2',
          published: 'replayed',
          woken: '1 | 5000',
        },
      ]);
      expect(await states.after(replay('1-1'))).toEqual([
        0,
        {
          dead: '3-1 original-id=7-7 error=an error attempts=3 first-seen-ms=44 a=b c=d, 4-1 original-id=7-7 error=an error attempts=3 first-seen-ms=44 luanest:fields=1:a1:b3:key2:kk',
          stream:
            '1800000000000-0 luanest:group=g payload=p1 key=k operation=o, 1800000000000-1 luanest:group=g payload=p2',
          woken: '1 | 5000',
        },
      ]);
      states.put('DEL', 'woken');
      expect(await states.after(replay('1-1'))).toEqual([
        0,
        {
          dead: '3-1 original-id=7-7 error=an error attempts=3 first-seen-ms=44 a=b c=d, 4-1 original-id=7-7 error=an error attempts=3 first-seen-ms=44 luanest:fields=1:a1:b3:key2:kk',
          stream:
            '1800000000000-0 luanest:group=g payload=p1 key=k operation=o, 1800000000000-1 luanest:group=g payload=p2',
        },
      ]);
      states.put('SET', 'woken', 1);
      expect((await states.after(replay('4-1')))[1].published).toBeUndefined();
    });

    it('replay-dead: publishes nothing to a stream that has expired', async () => {
      setUp();
      states.put('PEXPIRE', 'dead', 700);
      const before = states.keys();
      expect(await states.after(replay('1-1'))).toEqual([0, before]);
      states.run('XGROUP', 'CREATE', '@stream', 'g', '0', 'MKSTREAM');
      expect((await states.after(replay('1-1')))[0]).toBe(1);
      setUp();
      states.put('PEXPIRE', 'dead', 700);
      states.put('XADD', 'stream', '1-1', 'f', 'v');
      expect((await states.after(replay('1-1')))[0]).toBe(1);
      const keys = ['dead', 'stream'];
      expect(await states.withOtherTypes(keys, setUp, () => replay('1-1'))).toEqual(each(keys, 'error WRONGTYPE'));
    });

    it('replay-dead: wakes consumers for one message', async () => {
      setUp();
      states.put('DEL', 'woken');
      expect((await states.after(replay('3-1')))[1].published).toBe('replayed');
    });

    it.each([1, 0])('replay-dead: publishes nothing to a stream that expires in %i ms', async (leftMs) => {
      setUp();
      states.put('PEXPIREAT', 'dead', NOW + 1);
      states.clock.set(NOW + 1 - leftMs);
      expect(states.put('PTTL', 'dead')).toBe(leftMs);
      expect(await replay('1-1')).toBe(0);
      expect(states.put('EXISTS', 'stream')).toBe(0);
    });

    it('drop-dead: deletes', async () => {
      setUp();
      expect((await states.after(states.call(dropDead, { ids: ['1-1', '9-9', '3-1'] })))[0]).toEqual(2);
      expect(states.put('XLEN', 'dead')).toBe(2);
    });
  });

  describe('purge', () => {
    const purge = (args: object = {}) =>
      states.call(
        purgeStream,
        { after: '-', count: 9, needs: 'a b', ...args },
        { needed: ['unsettled of a', 'unsettled of b'] },
      );
    /** Both groups have read the first four of six entries. The group a has not settled 1-1, the group b not 3-1. */
    const setUp = () => {
      clear();
      for (let at = 1; at <= 6; at++) states.put('XADD', 'stream', `${at}-1`, 'f', 'v');
      for (const group of ['a', 'b']) {
        states.run('XGROUP', 'CREATE', '@stream', group, '0');
        states.run('XREADGROUP', 'GROUP', group, 's', 'COUNT', group === 'a' ? 4 : 5, 'STREAMS', '@stream', '>');
      }
      states.put('XACK', 'stream', 'a', '2-1', '3-1', '4-1');
      states.put('XACK', 'stream', 'b', '1-1', '2-1', '4-1', '5-1');
    };

    it('deletes entries that all groups have settled', async () => {
      expect(await purge()).toEqual({ deleted: 0, after: '-' });
      setUp();
      expect(await states.after(purge())).toEqual([
        { deleted: 2, after: '-' },
        { stream: '1-1 f=v, 3-1 f=v, 5-1 f=v, 6-1 f=v, [a after 4-1; s: 1-1 x1], [b after 5-1; s: 3-1 x1]' },
      ]);
      setUp();
      expect(await states.after(purge({ count: 3 }))).toEqual([
        { deleted: 1, after: '(3-1' },
        { stream: '1-1 f=v, 3-1 f=v, 4-1 f=v, 5-1 f=v, 6-1 f=v, [a after 4-1; s: 1-1 x1], [b after 5-1; s: 3-1 x1]' },
      ]);
      expect(await states.after(purge({ count: 3, after: '(3-1' }))).toEqual([
        { deleted: 1, after: '-' },
        { stream: '1-1 f=v, 3-1 f=v, 5-1 f=v, 6-1 f=v, [a after 4-1; s: 1-1 x1], [b after 5-1; s: 3-1 x1]' },
      ]);
      states.run('XGROUP', 'SETID', '@stream', 'a', '$');
      states.run('XGROUP', 'SETID', '@stream', 'b', '$');
      expect(await states.after(purge({ count: 9 }))).toEqual([
        { deleted: 2, after: '-' },
        { stream: '1-1 f=v, 3-1 f=v, [a after 6-1; s: 1-1 x1], [b after 6-1; s: 3-1 x1]' },
      ]);
    });

    it('deletes entries that the only group has settled', async () => {
      setUp();
      states.run('XGROUP', 'DESTROY', '@stream', 'b');
      expect(await purge({ needs: 'a' })).toEqual({ deleted: 3, after: '-' });
    });

    it('keeps what somebody took out of the list of a group', async () => {
      setUp();
      const all = Number(states.put('XLEN', 'stream'));
      const { deleted } = (await purge()) as { deleted: number };
      expect(deleted).toBeGreaterThan(0);
      setUp();
      for (const id of ['1-1', '2-1', '3-1', '4-1', '5-1', '6-1', '7-1']) states.put('SADD', 'unsettled of a', id);
      expect([await purge(), states.put('XLEN', 'stream')]).toEqual([
        { deleted: 0, after: expect.anything() as string },
        all,
      ]);
    });

    it.each(['a b c', '*'])('deletes nothing while it needs "%s"', async (needs) => {
      setUp();
      const before = states.keys();
      expect(await states.after(purge({ needs }))).toEqual([{ deleted: 0, after: '-' }, before]);
    });

    it('deletes nothing without groups', async () => {
      setUp();
      for (const group of ['a', 'b']) states.run('XGROUP', 'DESTROY', '@stream', group);
      const before = states.keys();
      expect(await states.after(purge({ needs: '' }))).toEqual([{ deleted: 0, after: '-' }, before]);
      expect(await states.withOtherTypes(['stream'], setUp, () => purge())).toEqual({ stream: 'error WRONGTYPE' });
    });
  });
});
