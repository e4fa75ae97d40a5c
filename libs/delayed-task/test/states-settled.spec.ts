import { NOW, ScriptStates } from '../../../test/support/script-states';
import { delayedTaskScripts } from '../src/delayed-task.scripts';
import { acknowledgeTasks, completeTask, failTask } from '../src/worker/worker.scripts';
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
  const acknowledge = (pairs: readonly string[] = MINE) => states.call(acknowledgeTasks, { pairs });
  const complete = (id = 'first', token = 't', result = '{}') =>
    states.call(completeTask, { id, token, keepMs: 500, result });
  const fail = (id = 'first', verdict = 'retry', token = 't', delayMs = 30) =>
    states.call(failTask, { id, token, delayMs, verdict, error: 'new error' });
  it('acknowledge: removes tasks of this worker', async () => {
    put();
    expect(await states.after(acknowledge(MIXED))).toEqual([
      { done: 1, lost: [0, 2, 3, 4, 5, 6] },
      {
        dead: 'dead@1799999999930',
        due: 'waits@1800000000050',
        leased: 'runs@1800000000060, second@1800000000070',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, runs=2 l t 7 8 9 e, second=2 l t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000100 | 7000',
      },
    ]);
    expect(await states.after(acknowledge())).toEqual([
      { done: 1, lost: [0] },
      {
        dead: 'dead@1799999999930',
        due: 'waits@1800000000050',
        leased: 'runs@1800000000060',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, runs=2 l t 7 8 9 e, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, runs=r, waits=w',
        waits: '1800000000100 | 7000',
      },
    ]);
    expect(await states.after(acknowledge())).toEqual([
      { done: 0, lost: [0, 1] },
      {
        dead: 'dead@1799999999930',
        due: 'waits@1800000000050',
        leased: 'runs@1800000000060',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, runs=2 l t 7 8 9 e, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, runs=r, waits=w',
        waits: '1800000000100 | 7000',
      },
    ]);
  });

  it('complete: keeps the result, and returns a replay the first result', async () => {
    put();
    states.clock.set(NOW + 0.25);
    expect(await states.after(complete())).toEqual([
      true,
      {
        dead: 'dead@1799999999930',
        due: 'waits@1800000000050',
        leased: 'runs@1800000000060, second@1800000000070',
        result: 't 1800000000000 {} | 500',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, runs=2 l t 7 8 9 e, second=2 l t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000100 | 7000',
      },
    ]);
    states.clock.set(NOW + 1);
    expect(await complete()).toBe(true);
    expect(await complete('first', 'x')).toBe(false);
    expect(await complete('first', 't 1800000000000')).toBe(true);
    expect(await complete('second', 'x')).toBe(false);
    expect(await complete('waits', 't')).toBe(false);
    expect(await complete('back', 't')).toBe(false);
    states.put('DEL', 'result');
    expect(await complete()).toBe(false);
    states.put('SET', 'result', 'tt 1 x');
    expect(await complete()).toBe(false);
  });

  it('fail: makes a task due again, and counts the attempt', async () => {
    put(NOW + 31);
    expect(await states.after(fail())).toEqual([
      'retried',
      {
        dead: 'dead@1799999999930',
        due: 'first@1800000000030, waits@1800000000050',
        leased: 'runs@1800000000060, second@1800000000070',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=2 r t 1800000000030 1800000000000 0 new error, runs=2 l t 7 8 9 e, second=2 l t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000030 | 60000',
        published: 'due',
      },
    ]);
    states.clock.set(NOW + 1);
    expect(await states.after(fail())).toEqual([
      'retried',
      {
        dead: 'dead@1799999999930',
        due: 'first@1800000000030, waits@1800000000050',
        leased: 'runs@1800000000060, second@1800000000070',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=2 r t 1800000000030 1800000000000 0 new error, runs=2 l t 7 8 9 e, second=2 l t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000030 | 59999',
      },
    ]);
    put(NOW + 31);
    expect(await states.after(fail('second', 'postpone'))).toEqual([
      'retried',
      {
        dead: 'dead@1799999999930',
        due: 'first@1800000000030, second@1800000000031, waits@1800000000050',
        leased: 'first@1800000000060, runs@1800000000060',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=2 l t 1799999999995 0 0 , runs=2 l t 7 8 9 e, second=1 r t 1800000000031 11 0 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000031 | 7000',
      },
    ]);
  });

  it.each([
    [NOW + 30, '1800000000030 | 7000'],
    [NOW + 29, '1800000000029 | 7000'],
  ])('fail: does not wake workers that wait for %s', async (waits, expected) => {
    put(waits);
    expect((await states.after(fail()))[1].waits).toEqual(expected);
  });

  it('fail: dead-letters a task after its last attempt, or at once', async () => {
    put();
    expect(await states.after(fail('second'))).toEqual([
      'dead',
      {
        dead: 'dead@1799999999930, second@1800000000000',
        due: 'waits@1800000000050',
        leased: 'first@1800000000060, runs@1800000000060',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=2 l t 1799999999995 0 0 , runs=2 l t 7 8 9 e, second=2 d t 1799999999991 11 0 new error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000100 | 7000',
      },
    ]);
    states.clock.set(NOW + 1);
    expect(await states.after(fail('second'))).toEqual([
      'dead',
      {
        dead: 'dead@1799999999930, second@1800000000000',
        due: 'waits@1800000000050',
        leased: 'first@1800000000060, runs@1800000000060',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=2 l t 1799999999995 0 0 , runs=2 l t 7 8 9 e, second=2 d t 1799999999991 11 0 new error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000100 | 6999',
      },
    ]);
    expect(await states.after(fail('first', 'dead-letter'))).toEqual([
      'dead',
      {
        dead: 'dead@1799999999930, second@1800000000000, first@1800000000001',
        due: 'waits@1800000000050',
        leased: 'runs@1800000000060',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=2 d t 1799999999995 1800000000001 0 new error, runs=2 l t 7 8 9 e, second=2 d t 1799999999991 11 0 new error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=3\n0\n-\nmail\n{}, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
        waits: '1800000000100 | 6999',
      },
    ]);
  });

  it('fail: takes one attempt if the record has no number', async () => {
    put();
    states.put('DEL', 'waits');
    states.put('HSET', 'tasks', 'first', 'x');
    states.put('HSET', 'runs', 'first', '0 l t 1 2 3 ');
    expect(await states.after(fail('first'))).toEqual([
      'dead',
      {
        dead: 'dead@1799999999930, first@1800000000000',
        due: 'waits@1800000000050',
        leased: 'runs@1800000000060, second@1800000000070',
        runs: 'again=2 w t 1 2 3 e, back=2 b t 1 2 3 e, dead=3 d t 1 2 3 e, first=0 d t 1 2 0 new error, runs=2 l t 7 8 9 e, second=2 l t 1799999999991 11 1799999999200 old error, waits=1 r t 4 5 6 e',
        tasks: 'back=x, dead=d, first=x, runs=r, second=2\n0\n-\nmail\n{}, waits=w',
      },
    ]);
  });

  it.each([
    ['none', 't', 'lost'],
    ['first', 'x', 'lost'],
    ['again', 't', 'lost'],
    ['back', 't', 'lost'],
    ['waits', 't', 'retried'],
    ['moved', 't', 'retried'],
    ['dead', 't', 'lost'],
    ['buried', 't', 'dead'],
  ])('fail: the task "%s" of "%s" is %s', async (id, token, status) => {
    put();
    states.put('HSET', 'tasks', 'moved', 'x');
    states.put('HSET', 'runs', 'moved', '2 w t 1 2 3 e');
    // The first run of this call has dead-lettered it. The task `dead` is a dead letter for another reason.
    states.put('HSET', 'tasks', 'buried', 'x');
    states.put('HSET', 'runs', 'buried', '2 d t 1 2 3 new error');
    const before = states.keys();
    expect(await states.after(fail(id, 'retry', token))).toEqual([status, before]);
  });
});
