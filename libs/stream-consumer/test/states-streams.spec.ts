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
  replayRange,
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
      states.call(announcePartitions, { partitions, group, paused: 0, atEnd: 0 });
    expect(await states.after(announce(2, ''))).toEqual([
      { partitions: 2, paused: [], groups: [], atEnd: 0 },
      { config: 'partitions=2' },
    ]);
    expect(await states.after(announce(1, 'a'))).toEqual([
      { partitions: 2, paused: [], groups: ['a'], atEnd: 0 },
      { config: 'group:a=1, partitions=2' },
    ]);
    expect(await states.after(announce(3, 'b'))).toEqual([
      { partitions: 3, paused: [], groups: ['a', 'b'], atEnd: 0 },
      { config: 'group:a=1, group:b=1, partitions=3' },
    ]);
    states.put('HSET', 'config', 'partitions', 'x');
    expect(await states.after(announce(1, ''))).toEqual([
      { partitions: 1, paused: [], groups: ['a', 'b'], atEnd: 0 },
      { config: 'group:a=1, group:b=1, partitions=1' },
    ]);
    expect(await states.after(states.call(withdrawGroup, { group: 'a' }))).toEqual([
      true,
      { config: 'group:b=1, partitions=1' },
    ]);
    expect(await states.call(withdrawGroup, { group: 'a' })).toBe(false);
  });

  it('announce: notes the partitions at whose end a new group begins, until it is opened', async () => {
    const announce = (partitions: number, atEnd: number) =>
      states.call(announcePartitions, { partitions, group: 'a', paused: 0, atEnd });
    const groups = ['a'];
    expect(await states.after(announce(2, 1))).toEqual([
      { partitions: 2, paused: [], groups, atEnd: 2 },
      { config: 'group:a=end 2, partitions=2' },
    ]);
    // Of a second process, and of a process that dies before it opens the group and starts again.
    expect(await announce(3, 1)).toEqual({ partitions: 3, paused: [], groups, atEnd: 2 });
    expect(await states.after(announce(3, 0))).toEqual([
      { partitions: 3, paused: [], groups, atEnd: 0 },
      { config: 'group:a=1, partitions=3' },
    ]);
    expect(await announce(3, 1)).toEqual({ partitions: 3, paused: [], groups, atEnd: 0 });
  });

  it('pause, announce and withdraw: know which groups are paused', async () => {
    clear();
    const pause = (action: string, group = 'a') => states.call(pauseGroup, { group, action });
    const announce = (group: string, paused: number) =>
      states.call(announcePartitions, { partitions: 1, group, paused, atEnd: 0 });
    expect(await states.after(pause('read'))).toEqual([false, {}]);
    expect(await states.after(pause('pause'))).toEqual([true, { config: 'paused:a=1' }]);
    expect(await states.after(pause('pause'))).toEqual([true, { config: 'paused:a=1' }]);
    expect(await states.after(pause('read'))).toEqual([true, { config: 'paused:a=1' }]);
    expect(await states.after(pause('keep'))).toEqual([true, { config: 'paused:a=1' }]);
    expect(await states.after(announce('b', 1))).toEqual([
      { partitions: 1, paused: ['a', 'b'], groups: ['b'], atEnd: 0 },
      { config: 'group:b=1, partitions=1, paused:a=1, paused:b=1' },
    ]);
    expect(await states.after(pause('resume', 'b'))).toEqual([
      false,
      { config: 'group:b=1, partitions=1, paused:a=1, paused:b=0' },
    ]);
    expect(await pause('keep', 'b')).toBe(false);
    expect(await announce('b', 1)).toEqual({ partitions: 1, paused: ['a'], groups: ['b'], atEnd: 0 });
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

  describe('replay-range', () => {
    const replay = (args: object = {}) =>
      states.call(replayRange, {
        group: 'a',
        after: '0-0',
        until: '18446744073709551615-18446744073709551615',
        size: 100,
        limit: 100,
        retainMs: 500,
        ...args,
      });
    /** The group a has read 1-1 to 5-1 and not settled 2-1; 3-1 is not pending, but unsettled; 4-1 is a copy. */
    const setUp = () => {
      clear();
      for (let at = 1; at <= 6; at++) {
        const fields = at === 4 ? ['luanest:group', 'b', 'payload', '4'] : ['payload', `${at}`, 'key', 'k'];
        states.put('XADD', 'stream', `${at}-1`, ...fields);
      }
      states.run('XGROUP', 'CREATE', '@stream', 'a', '0');
      states.run('XREADGROUP', 'GROUP', 'a', 's', 'COUNT', 5, 'STREAMS', '@stream', '>');
      states.put('XACK', 'stream', 'a', '1-1', '3-1', '4-1', '5-1');
      states.put('SADD', 'unsettled', '2-1', '3-1');
    };
    const copies = () =>
      (states.put('XRANGE', 'stream', `${NOW}`, '+') as [string, string[]][]).map(([, fields]) => fields.join(' '));
    const copy = (n: number) => `luanest:group a payload ${n} key k`;

    it('publishes what the group has settled, for the group', async () => {
      setUp();
      const [reply, keys] = await states.after(replay());
      expect(reply).toEqual({ state: 'end', replayed: 2, after: '5-1' });
      expect(keys).toMatchObject({ operation: '5-1 5-1 2 0 | 500', woken: '1 | 5000', published: 'replayed' });
      expect(copies()).toEqual([copy(1), copy(5)]);
      // A repeated call.
      expect(await states.after(replay())).toEqual([reply, { ...keys, published: undefined }]);
      // Copies are not copied, also when the group has settled them.
      states.run('XREADGROUP', 'GROUP', 'a', 's', 'STREAMS', '@stream', '>');
      states.put('XACK', 'stream', 'a', `${NOW}-0`, `${NOW}-1`);
      states.put('DEL', 'operation');
      expect(await replay()).toMatchObject({ state: 'end', replayed: 2 });
      expect(copies()).toEqual([copy(1), copy(5), copy(1), copy(5)]);
    });

    it('continues, stays silent while readers are awake, and does no step twice', async () => {
      setUp();
      states.put('SET', 'woken', 1);
      const first = { state: 'more', replayed: 1, after: '1-1' };
      expect(await replay({ size: 1 })).toEqual(first);
      expect(await replay({ size: 1 })).toEqual(first);
      expect(await states.published()).toEqual([]);
      const second = { state: 'more', replayed: 1, after: '3-1' };
      expect(await replay({ size: 2, after: '1-1' })).toEqual(second);
      const third = { state: 'end', replayed: 2, after: '5-1' };
      expect(await replay({ size: 9, after: '3-1' })).toEqual(third);
      // A call of any earlier step that comes late, and a new call of the operation.
      for (const after of ['3-1', '1-1', '0-0']) expect(await replay({ after })).toEqual(third);
      expect(copies()).toEqual([copy(1), copy(5)]);
    });

    it('keeps to the range and the limit', async () => {
      setUp();
      expect(await replay({ after: '1-1' })).toEqual({ state: 'end', replayed: 1, after: '5-1' });
      setUp();
      expect(await replay({ until: '4-9' })).toEqual({ state: 'end', replayed: 1, after: '4-1' });
      setUp();
      expect(await replay({ limit: 1 })).toEqual({ state: 'end', replayed: 1, after: '1-1' });
      expect(await replay({ limit: 1, after: '1-1' })).toEqual({ state: 'end', replayed: 1, after: '1-1' });
      setUp();
      expect(await replay({ after: '5-1' })).toEqual({ state: 'end', replayed: 0, after: '5-1' });
      setUp();
      states.run('XGROUP', 'SETID', '@stream', 'a', '1-1');
      expect(await replay()).toEqual({ state: 'end', replayed: 1, after: '1-1' });
    });

    it('changes nothing without the group or the stream, and finds keys of another type', async () => {
      const none = { state: 'no-group', replayed: 0, after: '0-0' };
      expect(await states.after(replay())).toEqual([none, {}]);
      setUp();
      const before = states.keys();
      expect(await states.after(replay({ group: 'c' }))).toEqual([none, before]);
      const keys = ['stream', 'unsettled', 'operation'];
      expect(await states.withOtherTypes(keys, setUp, () => replay())).toEqual(each(keys, 'error WRONGTYPE'));
    });

    it('packs an entry that has too many fields for one XADD', async () => {
      clear();
      const fields = Array.from({ length: 451 }, (_, i) => [`f${i}`, 'v']).flat();
      states.put('XADD', 'stream', '1-1', ...fields);
      states.run('XGROUP', 'CREATE', '@stream', 'a', '$');
      expect(await replay()).toMatchObject({ replayed: 1 });
      expect(copies()[0]).toMatch(/^luanest:group a luanest:fields 2:f01:v2:f11:v/);
    });
  });

  describe('purge', () => {
    const start = { after: '-', passed: 0 };
    const purge = (args: object = {}) =>
      states.call(
        purgeStream,
        { after: '-', passed: 0, size: 9, needs: 'a b', count: 0, bytes: -1, ageMs: -1, ...args },
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
      expect(await purge()).toEqual({ deleted: 0, next: start });
      setUp();
      expect(await states.after(purge())).toEqual([
        { deleted: 2, next: start },
        { stream: '1-1 f=v, 3-1 f=v, 5-1 f=v, 6-1 f=v, [a after 4-1; s: 1-1 x1], [b after 5-1; s: 3-1 x1]' },
      ]);
      setUp();
      expect(await states.after(purge({ size: 3 }))).toEqual([
        { deleted: 1, next: { after: '(3-1', passed: 2 } },
        { stream: '1-1 f=v, 3-1 f=v, 4-1 f=v, 5-1 f=v, 6-1 f=v, [a after 4-1; s: 1-1 x1], [b after 5-1; s: 3-1 x1]' },
      ]);
      expect(await states.after(purge({ size: 3, after: '(3-1', passed: 2 }))).toEqual([
        { deleted: 1, next: start },
        { stream: '1-1 f=v, 3-1 f=v, 5-1 f=v, 6-1 f=v, [a after 4-1; s: 1-1 x1], [b after 5-1; s: 3-1 x1]' },
      ]);
      states.run('XGROUP', 'SETID', '@stream', 'a', '$');
      states.run('XGROUP', 'SETID', '@stream', 'b', '$');
      expect(await states.after(purge())).toEqual([
        { deleted: 2, next: start },
        { stream: '1-1 f=v, 3-1 f=v, [a after 6-1; s: 1-1 x1], [b after 6-1; s: 3-1 x1]' },
      ]);
    });

    it.each([
      ['count 5', { count: 5 }, ['1-1', '2-1', '3-1', '4-1', '5-1', '6-1'], start],
      ['count 4', { count: 4 }, ['1-1', '3-1', '4-1', '5-1', '6-1'], start],
      ['count 3', { count: 3 }, ['1-1', '3-1', '4-1', '5-1', '6-1'], start],
      ['count 2', { count: 2 }, ['1-1', '3-1', '5-1', '6-1'], start],
      ['count 6', { count: 6 }, ['1-1', '2-1', '3-1', '4-1', '5-1', '6-1'], start],
      ['count 9', { count: 9 }, ['1-1', '2-1', '3-1', '4-1', '5-1', '6-1'], start],
      // It is 5 ms since 1970.
      ['age 4 ms', { ageMs: 4 }, ['1-1', '2-1', '3-1', '4-1', '5-1', '6-1'], start],
      ['age 2 ms', { ageMs: 2 }, ['1-1', '3-1', '4-1', '5-1', '6-1'], start],
      ['age 0 ms', { ageMs: 0 }, ['1-1', '3-1', '5-1', '6-1'], start],
      ['count 9, age 2 ms', { count: 9, ageMs: 2 }, ['1-1', '3-1', '4-1', '5-1', '6-1'], start],
      ['count 2, age 9 ms', { count: 2, ageMs: 9 }, ['1-1', '3-1', '5-1', '6-1'], start],
      ['no limit', {}, ['1-1', '2-1', '3-1', '4-1', '5-1', '6-1'], start],
      ['one entry', { count: 0, size: 1 }, ['1-1', '2-1', '3-1', '4-1', '5-1', '6-1'], { after: '(1-1', passed: 1 }],
      // Of the four that are old, three were passed.
      ['count 2 from the fourth', { count: 2, after: '(3-1', passed: 3 }, ['1-1', '2-1', '3-1', '5-1', '6-1'], start],
      [
        'count 3 from the fourth',
        { count: 3, after: '(3-1', passed: 3 },
        ['1-1', '2-1', '3-1', '4-1', '5-1', '6-1'],
        start,
      ],
    ])('keeps what is within the limits: %s', async (_, limits, left, next) => {
      setUp();
      states.clock.set(5);
      const reply = await purge({ count: -1, ...limits });
      expect(reply).toEqual({ deleted: 6 - left.length, next });
      expect((states.put('XRANGE', 'stream', '-', '+') as [string][]).map(([id]) => id)).toEqual(left);
    });

    it('finds what is unsettled behind deleted entries that are still pending', async () => {
      clear();
      for (let at = 1; at <= 20; at++) states.put('XADD', 'stream', `${at}-1`, 'f', 'v');
      states.run('XGROUP', 'CREATE', '@stream', 'a', '0');
      states.run('XREADGROUP', 'GROUP', 'a', 's', 'COUNT', 20, 'STREAMS', '@stream', '>');
      states.put('XACK', 'stream', 'a', '1-1', '20-1');
      for (let at = 2; at <= 18; at++) states.put('XDEL', 'stream', `${at}-1`);
      expect(await purge({ needs: 'a', count: 0, size: 3 })).toEqual({
        deleted: 2,
        next: { after: '(20-1', passed: 1 },
      });
      expect((states.put('XRANGE', 'stream', '-', '+') as [string][]).map(([id]) => id)).toEqual(['19-1']);
    });

    it('deletes entries that the only group has settled', async () => {
      setUp();
      states.run('XGROUP', 'DESTROY', '@stream', 'b');
      expect(await purge({ needs: 'a' })).toEqual({ deleted: 3, next: start });
    });

    it('keeps what somebody took out of the list of a group', async () => {
      setUp();
      const all = Number(states.put('XLEN', 'stream'));
      const { deleted } = (await purge()) as { deleted: number };
      expect(deleted).toBeGreaterThan(0);
      setUp();
      for (const id of ['1-1', '2-1', '3-1', '4-1', '5-1', '6-1', '7-1']) states.put('SADD', 'unsettled of a', id);
      expect([await purge(), states.put('XLEN', 'stream')]).toEqual([
        { deleted: 0, next: expect.anything() as object },
        all,
      ]);
    });

    it.each(['a b c', '*'])('deletes nothing while it needs "%s"', async (needs) => {
      setUp();
      const before = states.keys();
      expect(await states.after(purge({ needs }))).toEqual([{ deleted: 0, next: start }, before]);
    });

    it('deletes nothing without groups', async () => {
      setUp();
      for (const group of ['a', 'b']) states.run('XGROUP', 'DESTROY', '@stream', group);
      const before = states.keys();
      expect(await states.after(purge({ needs: '' }))).toEqual([{ deleted: 0, next: start }, before]);
      expect(await states.withOtherTypes(['stream'], setUp, () => purge())).toEqual({ stream: 'error WRONGTYPE' });
    });
  });
});
