import { NOW, ScriptStates } from '../../../test/support/script-states';
import {
  delayedTaskScripts,
  countTasks,
  getTask,
  noteLayout,
  rescheduleTask,
  scheduleTask,
  scheduleTasks,
} from '../src/delayed-task.scripts';
import { putTasks } from './states-tasks';

describe('each script of a queue, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates(delayedTaskScripts, ['waits']);
  const schedule = (tasks: readonly string[], conflict = 'keep') =>
    states.call(scheduleTasks, { conflict, operationMs: 500, tasks });
  const one = (when: string, id = 'a') => states.call(scheduleTask, { id, when, record: `r-${id}`, operationMs: 500 });
  const reschedule = (id: string, when: string, from = 'due') =>
    states.call(rescheduleTask, { id, when, from, operationMs: 500 });
  const put = (waits?: string | number) => putTasks(states, waits);

  it.each([
    [
      NOW + 11,
      [
        [
          { status: 'scheduled', runAtMs: 1800000000020 },
          { status: 'scheduled', runAtMs: 1800000000010 },
          { status: 'scheduled', runAtMs: 1800000000030 },
        ],
        {
          due: 'a@1800000000010, b@1800000000020, c@1800000000030',
          operation: '1800000000000:111 | 500',
          tasks: 'a=ra\n1800000000010, b=rb\n1800000000020, c=rc\n1800000000030',
          waits: '1800000000010 | 60000',
          published: 'due',
        },
      ],
    ],
    [
      NOW + 10,
      [
        [
          { status: 'scheduled', runAtMs: 1800000000020 },
          { status: 'scheduled', runAtMs: 1800000000010 },
          { status: 'scheduled', runAtMs: 1800000000030 },
        ],
        {
          due: 'a@1800000000010, b@1800000000020, c@1800000000030',
          operation: '1800000000000:111 | 500',
          tasks: 'a=ra\n1800000000010, b=rb\n1800000000020, c=rc\n1800000000030',
          waits: '1800000000010 | 7000',
        },
      ],
    ],
    [
      NOW + 9,
      [
        [
          { status: 'scheduled', runAtMs: 1800000000020 },
          { status: 'scheduled', runAtMs: 1800000000010 },
          { status: 'scheduled', runAtMs: 1800000000030 },
        ],
        {
          due: 'a@1800000000010, b@1800000000020, c@1800000000030',
          operation: '1800000000000:111 | 500',
          tasks: 'a=ra\n1800000000010, b=rb\n1800000000020, c=rc\n1800000000030',
          waits: '1800000000009 | 7000',
        },
      ],
    ],
    [
      'x',
      [
        [
          { status: 'scheduled', runAtMs: 1800000000020 },
          { status: 'scheduled', runAtMs: 1800000000010 },
          { status: 'scheduled', runAtMs: 1800000000030 },
        ],
        {
          due: 'a@1800000000010, b@1800000000020, c@1800000000030',
          operation: '1800000000000:111 | 500',
          tasks: 'a=ra\n1800000000010, b=rb\n1800000000020, c=rc\n1800000000030',
          waits: '1800000000010 | 60000',
          published: 'due',
        },
      ],
    ],
  ])('schedule: wakes workers that wait for %s', async (waits, expected) => {
    states.put('SET', 'waits', waits, 'PX', 7_000);
    expect(await states.after(schedule(['b', 'd20', 'rb', 'a', 'd10', 'ra', 'c', 'd30', 'rc']))).toEqual(expected);
  });

  it.each([
    [
      NOW + 11,
      [
        1800000000010,
        {
          due: 'a@1800000000010',
          operation: '1800000000010 | 500',
          tasks: 'a=r-a\n1800000000010',
          waits: '1800000000010 | 60000',
          published: 'due',
        },
      ],
    ],
    [
      NOW + 10,
      [
        1800000000010,
        {
          due: 'a@1800000000010',
          operation: '1800000000010 | 500',
          tasks: 'a=r-a\n1800000000010',
          waits: '1800000000010 | 7000',
        },
      ],
    ],
    [
      NOW + 9,
      [
        1800000000010,
        {
          due: 'a@1800000000010',
          operation: '1800000000010 | 500',
          tasks: 'a=r-a\n1800000000010',
          waits: '1800000000009 | 7000',
        },
      ],
    ],
    [
      'x',
      [
        1800000000010,
        {
          due: 'a@1800000000010',
          operation: '1800000000010 | 500',
          tasks: 'a=r-a\n1800000000010',
          waits: '1800000000010 | 60000',
          published: 'due',
        },
      ],
    ],
  ])('schedule-one: wakes workers that wait for %s', async (waits, expected) => {
    states.put('SET', 'waits', waits, 'PX', 7_000);
    expect(await states.after(one('d10'))).toEqual(expected);
  });

  it('all: a mark that is not a number wakes workers, once, also for a task that was due in 1970', async () => {
    put('x');
    await schedule(['a', 'a0', 'x']);
    states.put('DEL', 'operation');
    await one('a0', 'b');
    states.put('DEL', 'operation');
    await reschedule('waits', 'a0');
    expect(states.keys().waits).toBe('0 | 60000');
    expect(await states.published()).toEqual(['due']);
  });

  it('schedule-one: adds a task, and returns a replay the first result', async () => {
    states.clock.set(NOW + 999.5);
    expect(await states.after(one('d70'))).toEqual([
      1800000001069,
      {
        due: 'a@1800000001069',
        operation: '1800000001069 | 500',
        tasks: 'a=r-a\n1800000001069',
        published: 'due',
        waits: '1800000001069 | 60000',
      },
    ]);
    states.clock.set(NOW + 1_000);
    expect(await states.after(one('d70'))).toEqual([
      1800000001069,
      {
        due: 'a@1800000001069',
        operation: '1800000001069 | 499',
        tasks: 'a=r-a\n1800000001069',
        waits: '1800000001069 | 59999',
      },
    ]);
    states.put('DEL', 'operation');
    expect(await states.after(one('d71'))).toEqual([
      -1,
      { due: 'a@1800000001069', tasks: 'a=r-a\n1800000001069', waits: '1800000001069 | 59999' },
    ]);
    expect(await states.after(one(`a${NOW - 5}`, 'b'))).toEqual([
      1799999999995,
      {
        due: 'b@1799999999995, a@1800000001069',
        operation: '1799999999995 | 500',
        tasks: 'a=r-a\n1800000001069, b=r-b\n1799999999995',
        published: 'due',
        waits: '1799999999995 | 60000',
      },
    ]);
    states.put('SET', 'operation', 'x');
    expect(await states.after(one('d71'))).toEqual([
      -1,
      {
        due: 'b@1799999999995, a@1800000001069',
        operation: 'x',
        tasks: 'a=r-a\n1800000001069, b=r-b\n1799999999995',
        waits: '1799999999995 | 60000',
      },
    ]);
    states.put('DEL', 'operation');
    expect(await states.after(one('x1', 'c'))).toEqual([
      'error BADTASK',
      {
        due: 'b@1799999999995, a@1800000001069',
        tasks: 'a=r-a\n1800000001069, b=r-b\n1799999999995',
        waits: '1799999999995 | 60000',
      },
    ]);
  });

  it('get: reads each state', async () => {
    const get = (id: string) => states.call(getTask, { id });
    put();
    states.put('HSET', 'tasks', 'lost', 'l');
    states.put('HDEL', 'runs', 'waits');
    states.put('ZADD', 'leased', 1, 'waits');
    states.put('ZADD', 'dead', 2, 'runs');
    expect(await Promise.all(['waits', 'runs', 'dead', 'lost', 'none'].map(get))).toEqual([
      { atMs: 1800000000050, state: 'waiting', record: 'w', run: '', result: '', progress: '' },
      { atMs: 1800000000060, state: 'running', record: 'r', run: '2 l t 7 8 9 e', result: '', progress: '' },
      { atMs: 1799999999930, state: 'dead', record: 'd', run: '3 d t 1 2 3 e', result: '', progress: '' },
      { atMs: 0, state: 'waiting', record: 'l', run: '', result: '', progress: '' },
      { atMs: 0, state: '', record: '', run: '', result: '', progress: '' },
    ]);
    states.put('SET', 'result', 'the result');
    states.put('SET', 'progress', 'p');
    expect(await Promise.all(['waits', 'none'].map(get))).toEqual([
      { atMs: 1800000000050, state: 'waiting', record: 'w', run: '', result: '', progress: 'p' },
      { atMs: 0, state: 'done', record: '', run: '', result: 'the result', progress: 'p' },
    ]);
  });

  it('stats: counts the tasks', async () => {
    const count = () => states.call(countTasks, {});
    expect(await count()).toEqual({ waiting: 0, overdue: 0, running: 0, dead: 0, lateMs: 0 });
    put();
    states.put('ZADD', 'leased', 1, 'x', 2, 'y');
    states.put('ZADD', 'dead', 1, 'v');
    expect(await count()).toEqual({ waiting: 1, overdue: 0, running: 3, dead: 2, lateMs: 0 });
    states.put('ZADD', 'due', NOW, 'p', NOW + 1, 'q', NOW - 7, 'r', NOW - 6, 's');
    expect(await count()).toEqual({ waiting: 5, overdue: 3, running: 3, dead: 2, lateMs: 7 });
  });

  it('layout: keeps the first number', async () => {
    const layout = (partitions: number, keepMs: number) => states.call(noteLayout, { partitions, keepMs });
    expect(await states.after(layout(3, 500))).toEqual([3, { layout: '3 | 500' }]);
    expect(await states.after(layout(4, 700))).toEqual([3, { layout: '3 | 700' }]);
  });
});
