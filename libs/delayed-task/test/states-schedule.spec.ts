import { NOW, ScriptStates } from '../../../test/support/script-states';
import { delayedTaskScripts, scheduleTasks } from '../src/delayed-task.scripts';
import { putTasks } from './states-tasks';

describe('each script of a queue, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates(delayedTaskScripts, ['waits']);
  const schedule = (tasks: readonly string[], conflict = 'keep') =>
    states.call(scheduleTasks, { conflict, operationMs: 500, tasks });
  const put = (waits?: string | number) => putTasks(states, waits);

  it('schedule: adds tasks, and returns a replay the first result', async () => {
    states.clock.set(NOW + 0.25);
    const tasks = ['a', 'd70', 'ra', 'b', `a${NOW - 1}`, 'rb', 'c', 'd0', 'rc'];
    expect(await states.after(schedule(tasks))).toEqual([
      [
        { status: 'scheduled', runAtMs: 1800000000070 },
        { status: 'scheduled', runAtMs: 1799999999999 },
        { status: 'scheduled', runAtMs: 1800000000000 },
      ],
      {
        due: 'b@1799999999999, c@1800000000000, a@1800000000070',
        operation: '1800000000000:111 | 500',
        tasks: 'a=ra\n1800000000070, b=rb\n1799999999999, c=rc\n1800000000000',
        waits: '1799999999999 | 60000',
        published: 'due',
      },
    ]);
    states.clock.set(NOW + 5);
    expect(await states.after(schedule(tasks))).toEqual([
      [
        { status: 'scheduled', runAtMs: 1800000000070 },
        { status: 'scheduled', runAtMs: 1799999999999 },
        { status: 'scheduled', runAtMs: 1800000000000 },
      ],
      {
        due: 'b@1799999999999, c@1800000000000, a@1800000000070',
        operation: '1800000000000:111 | 495',
        tasks: 'a=ra\n1800000000070, b=rb\n1799999999999, c=rc\n1800000000000',
        waits: '1799999999999 | 59995',
      },
    ]);
    states.put('ZREM', 'due', 'a');
    expect(await states.after(schedule(tasks))).toEqual([
      [
        { status: 'scheduled', runAtMs: 1800000000070 },
        { status: 'scheduled', runAtMs: 1799999999999 },
        { status: 'scheduled', runAtMs: 1800000000000 },
      ],
      {
        due: 'b@1799999999999, c@1800000000000',
        operation: '1800000000000:111 | 495',
        tasks: 'a=ra\n1800000000070, b=rb\n1799999999999, c=rc\n1800000000000',
        waits: '1799999999999 | 59995',
      },
    ]);
  });

  it('schedule: keeps tasks that exist, and returns a replay their present due times', async () => {
    put();
    const tasks = ['waits', 'd1', 'x', 'runs', 'd1', 'x', 'dead', 'd1', 'x'];
    expect(await states.after(schedule(tasks))).toEqual([
      [
        { status: 'kept', runAtMs: 1800000000050 },
        { status: 'kept', runAtMs: 0 },
        { status: 'kept', runAtMs: 0 },
      ],
      {
        dead: 'dead@1799999999930',
        due: 'waits@1800000000050',
        leased: 'runs@1800000000060',
        operation: '1800000000000:333 | 500',
        runs: 'dead=3 d t 1 2 3 e, runs=2 l t 7 8 9 e, waits=1 r t 4 5 6 e',
        tasks: 'dead=d, runs=r, waits=w',
        waits: '1800000000100 | 7000',
      },
    ]);
    states.put('ZADD', 'due', NOW + 51, 'waits');
    expect(await states.after(schedule(tasks))).toEqual([
      [
        { status: 'kept', runAtMs: 1800000000051 },
        { status: 'kept', runAtMs: 0 },
        { status: 'kept', runAtMs: 0 },
      ],
      {
        dead: 'dead@1799999999930',
        due: 'waits@1800000000051',
        leased: 'runs@1800000000060',
        operation: '1800000000000:333 | 500',
        runs: 'dead=3 d t 1 2 3 e, runs=2 l t 7 8 9 e, waits=1 r t 4 5 6 e',
        tasks: 'dead=d, runs=r, waits=w',
        waits: '1800000000100 | 7000',
      },
    ]);
    states.put('DEL', 'operation');
    expect(await states.after(schedule(['a', 'd9', 'ra', ...tasks, 'a', 'd8', 'x']))).toEqual([
      [
        { status: 'scheduled', runAtMs: 1800000000009 },
        { status: 'kept', runAtMs: 1800000000051 },
        { status: 'kept', runAtMs: 0 },
        { status: 'kept', runAtMs: 0 },
        { status: 'kept', runAtMs: 1800000000009 },
      ],
      {
        dead: 'dead@1799999999930',
        due: 'a@1800000000009, waits@1800000000051',
        leased: 'runs@1800000000060',
        operation: '1800000000000:13333 | 500',
        runs: 'dead=3 d t 1 2 3 e, runs=2 l t 7 8 9 e, waits=1 r t 4 5 6 e',
        tasks: 'a=ra\n1800000000009, dead=d, runs=r, waits=w',
        waits: '1800000000009 | 60000',
        published: 'due',
      },
    ]);
    expect(await states.after(schedule(['a', 'd9', 'ra', ...tasks, 'a', 'd8', 'x']))).toEqual([
      [
        { status: 'scheduled', runAtMs: 1800000000009 },
        { status: 'kept', runAtMs: 1800000000051 },
        { status: 'kept', runAtMs: 0 },
        { status: 'kept', runAtMs: 0 },
        { status: 'kept', runAtMs: 1800000000009 },
      ],
      {
        dead: 'dead@1799999999930',
        due: 'a@1800000000009, waits@1800000000051',
        leased: 'runs@1800000000060',
        operation: '1800000000000:13333 | 500',
        runs: 'dead=3 d t 1 2 3 e, runs=2 l t 7 8 9 e, waits=1 r t 4 5 6 e',
        tasks: 'a=ra\n1800000000009, dead=d, runs=r, waits=w',
        waits: '1800000000009 | 60000',
      },
    ]);
  });

  it('schedule: replaces tasks that exist', async () => {
    put();
    const tasks = ['waits', 'd1', 'x', 'runs', 'd2', 'y', 'dead', 'd3', 'z', 'a', 'd4', 'r', 'a', 'd5', 's'];
    expect(await states.after(schedule(tasks, 'replace'))).toEqual([
      [
        { status: 'replaced', runAtMs: 1800000000001 },
        { status: 'replaced', runAtMs: 1800000000002 },
        { status: 'replaced', runAtMs: 1800000000003 },
        { status: 'scheduled', runAtMs: 1800000000004 },
        { status: 'replaced', runAtMs: 1800000000005 },
      ],
      {
        due: 'waits@1800000000001, runs@1800000000002, dead@1800000000003, a@1800000000005',
        operation: '1800000000000:22212 | 500',
        tasks: 'a=s\n1800000000005, dead=z\n1800000000003, runs=y\n1800000000002, waits=x\n1800000000001',
        waits: '1800000000001 | 60000',
        published: 'cancelled runs, due',
      },
    ]);
    states.clock.set(NOW + 1);
    expect(await states.after(schedule(tasks, 'replace'))).toEqual([
      [
        { status: 'replaced', runAtMs: 1800000000001 },
        { status: 'replaced', runAtMs: 1800000000002 },
        { status: 'replaced', runAtMs: 1800000000003 },
        { status: 'scheduled', runAtMs: 1800000000004 },
        { status: 'replaced', runAtMs: 1800000000005 },
      ],
      {
        due: 'waits@1800000000001, runs@1800000000002, dead@1800000000003, a@1800000000005',
        operation: '1800000000000:22212 | 499',
        tasks: 'a=s\n1800000000005, dead=z\n1800000000003, runs=y\n1800000000002, waits=x\n1800000000001',
        waits: '1800000000001 | 59999',
      },
    ]);
  });

  it('schedule: returns a replay the due time of a task that it replaced', async () => {
    put();
    expect(await schedule(['waits', 'd1', 'x'], 'replace')).toEqual([{ status: 'replaced', runAtMs: NOW + 1 }]);
    states.put('ZADD', 'due', NOW + 9, 'waits');
    expect(await schedule(['waits', 'd1', 'x'], 'replace')).toEqual([{ status: 'replaced', runAtMs: NOW + 1 }]);
  });

  it('schedule: refuses wrong tasks, and too many, and changes nothing', async () => {
    put();
    const before = states.keys();
    for (const tasks of [['a', 'd1'], [], ['a', 'x1', 'r'], ['a', 'd', 'r'], ['a', 'd1x', 'r'], ['a', '-d1', 'r']]) {
      expect(await states.after(schedule(tasks))).toEqual(['error BADTASK', before]);
    }
    await expect(schedule(['a', 'd1', 'r', 'b', 'x', 'r'])).rejects.toThrow(/ARGV\[7\] is/);
    const many = Array.from({ length: 301 }, (_, at) => [`id${at}`, 'd1', 'r']);
    expect(await states.after(schedule(many.flat()))).toEqual(['error BADTASK', before]);
    expect(await schedule(many.slice(1).flat())).toHaveLength(300);
    states.put('SET', 'operation', 'x');
    expect(((await schedule(['z', 'd1', 'r'])) as object[])[0]).toEqual({
      status: 'scheduled',
      runAtMs: 1800000000001,
    });
  });

  it('schedule: in one group, each call has its own tasks', async () => {
    const calls = ['a', 'b'].map((id, at) =>
      states.call(
        scheduleTasks,
        { conflict: 'keep', operationMs: 500, tasks: [id, 'd1', id] },
        { operation: `op${at}` },
      ),
    );
    expect(await states.after(Promise.all(calls))).toEqual([
      [[{ status: 'scheduled', runAtMs: 1800000000001 }], [{ status: 'scheduled', runAtMs: 1800000000001 }]],
      {
        due: 'a@1800000000001, b@1800000000001',
        op0: '1800000000001:1 | 500',
        op1: '1800000000001:1 | 500',
        tasks: 'a=a\n1800000000001, b=b\n1800000000001',
        published: 'due',
        waits: '1800000000001 | 60000',
      },
    ]);
  });
});
