import { NOW, ScriptStates } from '../../../test/support/script-states';
import { delayedTaskScripts } from '../src/delayed-task.scripts';
import { releaseTasks, renewTasks } from '../src/worker/worker.scripts';
import { putTasks } from './states-tasks';

describe('each script of an attempt, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates(delayedTaskScripts, ['waits']);
  /** Two tasks that run, and others that do not. */
  const put = (waits?: string | number) => {
    putTasks(states, waits);
    states.put('ZADD', 'leased', NOW + 60, 'first', NOW + 70, 'second');
    states.put('HSET', 'tasks', 'first', '3\n0\n-\nmail\n{}', 'second', '2\n0\n-\nmail\n{}', 'back', 'x');
    states.put(
      'HSET',
      'runs',
      'first',
      `2 l t ${NOW - 5} 0 0 `,
      'second',
      `2 l t ${NOW - 9} 11 ${NOW - 800} old error`,
    );
    states.put('HSET', 'runs', 'back', '2 b t 1 2 3 e', 'again', '2 w t 1 2 3 e');
  };
  const MINE = ['first', 't', 'second', 't'];
  const MIXED = ['none', 't', 'first', 't', 'waits', 't', 'second', 'x', 'runs', 'tt', 'dead', 't', 'back', 't'];
  const renew = (pairs: readonly string[] = MINE) => states.call(renewTasks, { leaseMs: 900, pairs });
  const release = (pairs: readonly string[] = MINE) => states.call(releaseTasks, { pairs });
  it('renew: extends the leases of this worker', async () => {
    put();
    states.clock.set(NOW + 0.25);
    expect(await states.after(renew(MIXED))).toEqual([
      { done: 1, lost: [0, 2, 3, 4, 5, 6] },
      {
        dead: 'dead@1799999999930',
        due: 'waits@1800000000050',
        leased: 'runs@1800000000060, second@1800000000070, first@1800000000900',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=2 l t 1799999999995 0 0 , runs=2 l t 7 8 9 e, second=2 l t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000100 | 7000',
      },
    ]);
    expect(await states.after(renew())).toEqual([
      { done: 2, lost: [] },
      {
        dead: 'dead@1799999999930',
        due: 'waits@1800000000050',
        leased: 'runs@1800000000060, first@1800000000900, second@1800000000900',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=2 l t 1799999999995 0 0 , runs=2 l t 7 8 9 e, second=2 l t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000100 | 7000',
      },
    ]);
    states.put('ZREM', 'leased', 'first');
    expect(await states.after(renew())).toEqual([
      { done: 2, lost: [] },
      {
        dead: 'dead@1799999999930',
        due: 'waits@1800000000050',
        leased: 'runs@1800000000060, second@1800000000900',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=2 l t 1799999999995 0 0 , runs=2 l t 7 8 9 e, second=2 l t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000100 | 7000',
      },
    ]);
    // The lease of a task that was replaced, and that of the task which replaced it.
    expect((await states.after(renew(['first', 'old', 'first', 't'])))[0]).toEqual({ done: 1, lost: [0] });
    expect(await states.after(renew(['none', 't']))).toEqual([
      { done: 0, lost: [0] },
      {
        dead: 'dead@1799999999930',
        due: 'waits@1800000000050',
        leased: 'runs@1800000000060, second@1800000000900',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=2 l t 1799999999995 0 0 , runs=2 l t 7 8 9 e, second=2 l t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000100 | 7000',
      },
    ]);
  });

  it.each([
    [
      NOW - 9,
      {
        dead: 'dead@1799999999930',
        due: 'second@1799999999991, first@1799999999995, waits@1800000000050',
        leased: 'runs@1800000000060',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=1 b t 1799999999995 0 0 , runs=2 l t 7 8 9 e, second=1 b t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1799999999991 | 7000',
      },
    ],
    [
      NOW - 8,
      {
        dead: 'dead@1799999999930',
        due: 'second@1799999999991, first@1799999999995, waits@1800000000050',
        leased: 'runs@1800000000060',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=1 b t 1799999999995 0 0 , runs=2 l t 7 8 9 e, second=1 b t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1799999999991 | 60000',
        published: 'due',
      },
    ],
    [
      'x',
      {
        dead: 'dead@1799999999930',
        due: 'second@1799999999991, first@1799999999995, waits@1800000000050',
        leased: 'runs@1800000000060',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=1 b t 1799999999995 0 0 , runs=2 l t 7 8 9 e, second=1 b t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1799999999991 | 60000',
        published: 'due',
      },
    ],
  ])('release: wakes workers that wait for %s', async (waits, expected) => {
    put(waits);
    expect((await states.after(release()))[1]).toEqual(expected);
  });

  it('release: hands back without a mark', async () => {
    put();
    states.put('DEL', 'waits');
    expect((await states.after(release()))[0]).toEqual({ done: 2, lost: [] });
  });

  it('release: a mark that is not a number wakes workers, also for a task that was due in 1970', async () => {
    put('x');
    states.put('HSET', 'runs', 'first', '2 l t 0 0 0 ');
    await release();
    expect(states.keys().waits).toBe('0 | 60000');
  });
});
