import { each, NOW, ScriptStates } from '../../../test/support/script-states';
import { delayedTaskScripts } from '../src/delayed-task.scripts';
import {
  acknowledgeTasks,
  completeTask,
  deferTasks,
  failTask,
  releaseTasks,
  renewTasks,
} from '../src/worker/worker.scripts';
import { putTasks, WRITES } from './states-tasks';

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
  const acknowledge = (pairs: readonly string[] = MINE) => states.call(acknowledgeTasks, { pairs });
  const complete = (id = 'first', token = 't', result = '{}') =>
    states.call(completeTask, { id, token, keepMs: 500, result });
  const fail = (id = 'first', verdict = 'retry', token = 't', delayMs = 30) =>
    states.call(failTask, { id, token, delayMs, verdict, error: 'new error' });
  const renew = (pairs: readonly string[] = MINE) => states.call(renewTasks, { leaseMs: 900, pairs });
  const release = (pairs: readonly string[] = MINE) => states.call(releaseTasks, { pairs });
  const defer = (pairs: readonly string[] = MINE, longestMs = 5_000, share = 500) =>
    states.call(deferTasks, { longestMs, share, error: 'no handler', pairs });

  it('release: hands tasks back, and counts those that a first call handed back', async () => {
    put();
    expect(await states.after(release(MIXED))).toEqual([
      { done: 2, lost: [0, 2, 3, 4, 5] },
      {
        dead: 'dead@1799999999930',
        due: 'first@1799999999995, waits@1800000000050',
        leased: 'runs@1800000000060, second@1800000000070',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=1 b t 1799999999995 0 0 , runs=2 l t 7 8 9 e, second=2 l t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1799999999995 | 60000',
        published: 'due',
      },
    ]);
    expect(await states.after(release())).toEqual([
      { done: 2, lost: [] },
      {
        dead: 'dead@1799999999930',
        due: 'second@1799999999991, first@1799999999995, waits@1800000000050',
        leased: 'runs@1800000000060',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=1 b t 1799999999995 0 0 , runs=2 l t 7 8 9 e, second=1 b t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1799999999991 | 60000',
        published: 'due',
      },
    ]);
    expect(await states.after(release([...MINE, 'none', 't']))).toEqual([
      { done: 2, lost: [2] },
      {
        dead: 'dead@1799999999930',
        due: 'second@1799999999991, first@1799999999995, waits@1800000000050',
        leased: 'runs@1800000000060',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=1 b t 1799999999995 0 0 , runs=2 l t 7 8 9 e, second=1 b t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1799999999991 | 60000',
      },
    ]);
  });

  it('defer: hands tasks back for a share of a pause, and returns a replay the first result', async () => {
    put(NOW + 51);
    expect(await states.after(defer(MIXED))).toEqual([
      [0, 1, 0, 0, 0, 0, 1],
      {
        dead: 'dead@1799999999930',
        due: 'first@1800000000050, waits@1800000000050',
        leased: 'runs@1800000000060, second@1800000000070',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=1 b t 1799999999995 0 1800000000000 , runs=2 l t 7 8 9 e, second=2 l t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000050 | 60000',
        published: 'due',
      },
    ]);
    expect(await states.after(defer(MINE))).toEqual([
      [1, 1],
      {
        dead: 'dead@1799999999930',
        due: 'first@1800000000050, second@1800000000050, waits@1800000000050',
        leased: 'runs@1800000000060',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=1 b t 1799999999995 0 1800000000000 , runs=2 l t 7 8 9 e, second=1 b t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000050 | 60000',
      },
    ]);
    expect(await states.after(defer(MINE))).toEqual([
      [1, 1],
      {
        dead: 'dead@1799999999930',
        due: 'first@1800000000050, second@1800000000050, waits@1800000000050',
        leased: 'runs@1800000000060',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=1 b t 1799999999995 0 1800000000000 , runs=2 l t 7 8 9 e, second=1 b t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000050 | 60000',
      },
    ]);
  });

  it.each([
    [799, 'waits@1800000000050, first@1800000000100'],
    [801, 'waits@1800000000050, first@1800000000101'],
    [8_003, 'waits@1800000000050, first@1800000001001'],
    [80_000, 'waits@1800000000050, first@1800000010000'],
    [80_008, 'waits@1800000000050, first@1800000010000'],
    [80_009, 'waits@1800000000050, first@1800000010000'],
  ])('defer: after %i ms without a handler', async (ms, expected) => {
    put(NOW + 20_000);
    states.put('HSET', 'runs', 'first', `2 l t ${NOW - 5} 0 ${NOW - ms} `);
    expect((await states.after(defer(['first', 't'], 90_000, 1_000)))[1].due).toEqual(expected);
  });

  it('defer: dead-letters a task after the longest time', async () => {
    put();
    expect(await states.after(defer(MINE, 801))).toEqual([
      [1, 1],
      {
        dead: 'dead@1799999999930',
        due: 'first@1800000000050, second@1800000000050, waits@1800000000050',
        leased: 'runs@1800000000060',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=1 b t 1799999999995 0 1800000000000 , runs=2 l t 7 8 9 e, second=1 b t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000050 | 60000',
        published: 'due',
      },
    ]);
    put();
    expect(await states.after(defer(MINE, 800))).toEqual([
      [1, 2],
      {
        dead: 'dead@1799999999930, second@1800000000000',
        due: 'first@1800000000050, second@1800000000050, waits@1800000000050',
        leased: 'runs@1800000000060',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=1 b t 1799999999995 0 1800000000000 , runs=2 l t 7 8 9 e, second=1 d t 1799999999991 11 0 no handler, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000050 | 60000',
        published: 'due',
      },
    ]);
    put();
    expect(await states.after(defer(['first', 't'], 0))).toEqual([
      [2],
      {
        dead: 'dead@1799999999930, first@1800000000000, second@1800000000000',
        due: 'first@1800000000050, second@1800000000050, waits@1800000000050',
        leased: 'runs@1800000000060, second@1800000000070',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=1 d t 1799999999995 1800000000000 0 no handler, runs=2 l t 7 8 9 e, second=2 l t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000100 | 7000',
      },
    ]);
    expect(await states.after(defer(['first', 't', 'second', 't'], 0))).toEqual([
      [2, 2],
      {
        dead: 'dead@1799999999930, first@1800000000000, second@1800000000000',
        due: 'first@1800000000050, second@1800000000050, waits@1800000000050',
        leased: 'runs@1800000000060',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=1 d t 1799999999995 1800000000000 0 no handler, runs=2 l t 7 8 9 e, second=1 d t 1799999999991 11 0 no handler, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000100 | 7000',
      },
    ]);
  });

  it.each([
    [
      NOW + 50,
      {
        dead: 'dead@1799999999930',
        due: 'first@1800000000050, second@1800000000050, waits@1800000000050',
        leased: 'runs@1800000000060',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=1 b t 1799999999995 0 1800000000000 , runs=2 l t 7 8 9 e, second=1 b t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000050 | 7000',
      },
    ],
    [
      NOW + 51,
      {
        dead: 'dead@1799999999930',
        due: 'first@1800000000050, second@1800000000050, waits@1800000000050',
        leased: 'runs@1800000000060',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=1 b t 1799999999995 0 1800000000000 , runs=2 l t 7 8 9 e, second=1 b t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000050 | 60000',
        published: 'due',
      },
    ],
    [
      'x',
      {
        dead: 'dead@1799999999930',
        due: 'first@1800000000050, second@1800000000050, waits@1800000000050',
        leased: 'runs@1800000000060',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=1 b t 1799999999995 0 1800000000000 , runs=2 l t 7 8 9 e, second=1 b t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000050 | 60000',
        published: 'due',
      },
    ],
  ])('defer: wakes workers that wait for %s', async (waits, expected) => {
    put(waits);
    expect((await states.after(defer()))[1]).toEqual(expected);
  });

  it('defer: hands back without a mark', async () => {
    put();
    states.put('DEL', 'waits');
    expect((await states.after(defer()))[0]).toEqual([1, 1]);
  });

  it('fail and defer: keep the time of a first failure that is 1', async () => {
    put();
    states.put('HSET', 'runs', 'first', '2 l t 5 1 0 ', 'second', '2 l t 5 0 1 ');
    await fail();
    expect(states.put('HGET', 'runs', 'first')).toBe(`2 r t ${NOW + 30} 1 0 new error`);
    put();
    states.put('HSET', 'runs', 'first', '2 l t 5 1 1 ', 'second', '2 l t 5 0 1 ');
    expect(await defer()).toEqual([2, 2]);
    expect(states.put('HMGET', 'runs', 'first', 'second')).toEqual([
      '1 d t 5 1 0 no handler',
      '1 d t 5 1 0 no handler',
    ]);
  });

  it('all check the permissions before the first write', async () => {
    const check = async (first: string, calls: readonly (() => Promise<unknown>)[]) => {
      const names = [...WRITES.map((name) => `${name} ${first}`), ...WRITES];
      for (const call of calls) {
        expect(await states.withDenied(names, () => put(), call)).toEqual(each(names, 'error NOTALLOWED'));
      }
    };
    await check('leased', [acknowledge, complete]);
    await check('due', [fail, release, defer]);
  });

  it('all fail before they change anything if a key has another type', async () => {
    const check = async (names: readonly string[], call: () => Promise<unknown>) => {
      expect(await states.withOtherTypes(names, () => put(), call)).toEqual(each(names, 'error WRONGTYPE'));
    };
    await check(['leased', 'tasks', 'runs'], acknowledge);
    await check(['leased', 'tasks', 'runs', 'result'], complete);
    await check(['leased', 'runs'], renew);
    await check(['due', 'leased', 'runs', 'waits'], release);
    await check(['due', 'leased', 'runs', 'waits'], () => release(['none', 't']));
    await check(['due', 'leased', 'runs', 'dead', 'waits'], () => defer(['none', 't']));
    await check(['due', 'leased', 'runs', 'dead', 'waits'], defer);
    await check(['due', 'leased', 'tasks', 'runs', 'dead', 'waits'], fail);
  });
});
