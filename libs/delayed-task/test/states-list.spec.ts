import { each, NOW, ScriptStates } from '../../../test/support/script-states';
import { delayedTaskScripts, listTasks } from '../src/delayed-task.scripts';
import { sweepTasks } from '../src/worker/worker.scripts';
import { putTasks, WRITES } from './states-tasks';

type Args = Readonly<Record<string, string | number>>;

describe('each script of dead letters, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates(delayedTaskScripts, ['waits']);
  const list = (args: Args = {}) =>
    states.call(listTasks, { untilMs: NOW + 9, afterMs: 0, afterId: '', limit: 9, ...args });
  const record = (name: string) => `3\n0\n-\n${name}\n{}\n${NOW}`;
  /** Dead letters of three times; of the second time there are five, whose ids are prefixes of each other, or are not text. */
  const putDead = () => {
    states.put('ZADD', 'place', NOW - 3, 'z', NOW - 2, 'a', NOW - 2, 'aa', NOW - 2, 'ab', NOW - 2, 'b', NOW - 2, 'é');
    states.put('ZADD', 'place', NOW, 'c', NOW + 1, 'd');
    for (const id of ['z', 'a', 'aa', 'b', 'é', 'c', 'd']) {
      states.put('HSET', 'tasks', id, record(id === 'aa' || id === 'z' ? 'mail' : 'other'));
      if (id !== 'b') states.put('HSET', 'runs', id, `run ${id}`);
    }
    states.put('SET', 'waits', NOW + 1, 'PX', 7_000);
  };
  const idsOf = (reply: unknown) => (reply as { rows: { id: string }[] }).rows.map(({ id }) => id).join(' ');

  it('list: reads a page, with what is lost as empty texts', async () => {
    expect(await list()).toEqual({ untilMs: NOW, rows: [] });
    putDead();
    expect(await list({ limit: 5 })).toEqual({
      untilMs: 1800000000000,
      rows: [
        { id: 'z', atMs: 1799999999997, record: '3\n0\n-\nmail\n{}\n1800000000000', run: 'run z' },
        { id: 'a', atMs: 1799999999998, record: '3\n0\n-\nother\n{}\n1800000000000', run: 'run a' },
        { id: 'aa', atMs: 1799999999998, record: '3\n0\n-\nmail\n{}\n1800000000000', run: 'run aa' },
        { id: 'ab', atMs: 1799999999998, record: '', run: '' },
        { id: 'b', atMs: 1799999999998, record: '3\n0\n-\nother\n{}\n1800000000000', run: '' },
      ],
    });
    expect(await list({ untilMs: NOW - 2, afterMs: NOW - 2, afterId: 'ab' })).toEqual({
      untilMs: 1799999999998,
      rows: [
        { id: 'b', atMs: 1799999999998, record: '3\n0\n-\nother\n{}\n1800000000000', run: '' },
        { id: 'é', atMs: 1799999999998, record: '3\n0\n-\nother\n{}\n1800000000000', run: 'run é' },
      ],
    });
  });

  it.each([
    ['of all', {}, 'z a aa ab b é c'],
    ['of one', { limit: 1 }, 'z'],
    ['after the last one of a time', { afterMs: NOW - 3, afterId: 'z' }, 'a aa ab b é c'],
    ['after the first one of a time', { afterMs: NOW - 2, afterId: 'a' }, 'aa ab b é c'],
    ['after a longer id', { afterMs: NOW - 2, afterId: 'aa' }, 'ab b é c'],
    ['after an id that is gone', { afterMs: NOW - 2, afterId: 'aaa' }, 'ab b é c'],
    ['after an id of other bytes', { afterMs: NOW - 2, afterId: 'bé' }, 'é c'],
    ['after the last id of a time', { afterMs: NOW - 2, afterId: 'é', limit: 1 }, 'c'],
    ['from a time', { afterMs: NOW - 2 }, 'a aa ab b é c'],
    ['after a time without one', { afterMs: NOW - 1, afterId: 'x' }, 'c'],
    ['after the last one', { afterMs: NOW, afterId: 'c' }, ''],
    ['up to a time', { untilMs: NOW - 2 }, 'z a aa ab b é'],
    ['up to an earlier time', { untilMs: NOW - 3 }, 'z'],
    ['up to a time before all', { untilMs: NOW - 4 }, ''],
  ])('list: reads a page %s', async (_, args, expected) => {
    putDead();
    expect(idsOf(await list(args as Args))).toEqual(expected);
  });

  describe('sweep', () => {
    const sweep = (args: Args = {}) =>
      states.call(sweepTasks, { retentionMs: 500, leaseMs: 800, taskCursor: '0', runCursor: '0', count: 9, ...args });

    it('changes nothing that is complete', async () => {
      putTasks(states);
      const before = states.keys();
      expect(await states.after(sweep())).toEqual([
        { expired: 0, restored: 0, dropped: 0, taskCursor: '0', runCursor: '0' },
        before,
      ]);
    });

    it('deletes dead letters after their retention', async () => {
      putTasks(states);
      states.put('ZADD', 'dead', NOW - 500, 'old', NOW - 501, 'older', NOW - 499, 'kept');
      states.put('HSET', 'tasks', 'old', 'x', 'kept', 'y', 'older', 'z');
      states.put('HSET', 'runs', 'old', '3 d t 1 2 3 e', 'kept', '3 d t 1 2 3 e');
      expect(await states.after(sweep({ count: 1 }))).toEqual([
        { expired: 1, restored: 0, dropped: 0, taskCursor: '0', runCursor: '0' },
        {
          dead: 'old@1799999999500, kept@1799999999501, dead@1799999999930',
          due: 'waits@1800000000050',
          leased: 'runs@1800000000060',
          runs: 'dead=3 d t 1 2 3 e, kept=3 d t 1 2 3 e, old=3 d t 1 2 3 e, runs=2 l t 7 8 9 e, waits=1 r t 4 5 6 e',
          tasks: 'dead=d, kept=y, old=x, runs=r, waits=w',
          waits: '1800000000100 | 7000',
        },
      ]);
      expect(await states.after(sweep())).toEqual([
        { expired: 1, restored: 0, dropped: 0, taskCursor: '0', runCursor: '0' },
        {
          dead: 'kept@1799999999501, dead@1799999999930',
          due: 'waits@1800000000050',
          leased: 'runs@1800000000060',
          runs: 'dead=3 d t 1 2 3 e, kept=3 d t 1 2 3 e, runs=2 l t 7 8 9 e, waits=1 r t 4 5 6 e',
          tasks: 'dead=d, kept=y, runs=r, waits=w',
          waits: '1800000000100 | 7000',
        },
      ]);
    });

    it('restores tasks that wait for nothing', async () => {
      const lost = ['new', 'bare', 'runs', 'dead', 'retried'];
      for (const id of lost) states.put('HSET', 'tasks', id, id === 'bare' ? 'x' : record('mail'));
      states.put('HSET', 'tasks', 'new', `x\n${NOW + 7}`);
      states.put('HSET', 'runs', 'runs', '2 l t 7 8 9 e', 'dead', '3 d t 1 2 3 e', 'retried', `3 r t ${NOW + 3} 2 3 e`);
      expect(await states.after(sweep())).toEqual([
        {
          expired: 0,
          restored: 5,
          dropped: 0,
          taskCursor: '0',
          runCursor: '0',
        },
        {
          dead: 'dead@1800000000000',
          due: 'bare@1800000000000, retried@1800000000003, new@1800000000007',
          leased: 'runs@1800000000800',
          runs: 'dead=3 d t 1 2 3 e, retried=3 r t 1800000000003 2 3 e, runs=2 l t 7 8 9 e',
          tasks:
            'bare=x, dead=3\n0\n-\nmail\n{}\n1800000000000, new=x\n1800000000007, retried=3\n0\n-\nmail\n{}\n1800000000000, runs=3\n0\n-\nmail\n{}\n1800000000000',
          published: 'due',
        },
      ]);
    });

    it('drops runs without a task', async () => {
      putTasks(states);
      states.put('HDEL', 'tasks', 'runs');
      expect(await states.after(sweep())).toEqual([
        { expired: 0, restored: 0, dropped: 1, taskCursor: '0', runCursor: '0' },
        {
          dead: 'dead@1799999999930',
          due: 'waits@1800000000050',
          runs: 'dead=3 d t 1 2 3 e, waits=1 r t 4 5 6 e',
          tasks: 'dead=d, waits=w',
          waits: '1800000000100 | 7000',
        },
      ]);
    });

    it('goes on from both cursors', async () => {
      for (let i = 0; i < 400; i++) {
        states.put('HSET', 'tasks', `task${i}`, 'x');
        states.put('HSET', 'runs', `run${i}`, '1 r t 1 0 0 ');
      }
      const first = (await sweep({ count: 50 })) as { taskCursor: string; runCursor: string };
      expect([first.taskCursor, first.runCursor]).not.toContain('0');
      let [restored, dropped, calls] = [0, 0, 0];
      for (let [taskCursor, runCursor] = ['0', '0']; calls === 0 || taskCursor !== '0' || runCursor !== '0'; calls++) {
        const reply = (await sweep({ count: 50, taskCursor, runCursor })) as typeof first & {
          restored: number;
          dropped: number;
        };
        ({ taskCursor, runCursor } = reply);
        restored += reply.restored;
        dropped += reply.dropped;
        expect(calls).toBeLessThan(100);
      }
      expect([restored, dropped]).not.toContain(0);
      expect(states.put('ZCARD', 'due')).toBe(400);
      expect(states.put('HLEN', 'runs')).toBe(0);
    });

    it('looks at the runs from its cursor', async () => {
      for (let i = 0; i < 400; i++) states.put('HSET', 'runs', `run${i}`, '1 r t 1 0 0 ');
      const [first] = states.put('HSCAN', 'runs', '0', 'COUNT', 40) as [string, string[]];
      const [second, page] = states.put('HSCAN', 'runs', first, 'COUNT', 40) as [string, string[]];
      expect(await sweep({ runCursor: first, count: 40 })).toMatchObject({
        runCursor: second,
        dropped: page.length / 2,
      });
      expect(states.put('HEXISTS', 'runs', page[0] ?? '')).toBe(0);
    });

    it('checks permissions and types before the first write', async () => {
      const setUp = () => {
        putTasks(states);
        states.put('ZREM', 'due', 'waits');
        states.put('HDEL', 'tasks', 'dead');
      };
      const names = [...WRITES.map((name) => `${name} due`), ...WRITES];
      expect(await states.withDenied(names, setUp, sweep)).toEqual(each(names, 'error NOTALLOWED'));
      const keys = ['due', 'leased', 'tasks', 'runs', 'dead'];
      expect(await states.withOtherTypes(keys, setUp, sweep)).toEqual(each(keys, 'error WRONGTYPE'));
      expect(await states.withOtherTypes(keys, () => undefined, sweep)).toEqual(each(keys, 'error WRONGTYPE'));
    });
  });
});
