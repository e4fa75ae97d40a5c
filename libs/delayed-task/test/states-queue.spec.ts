import { each, NOW, ScriptStates } from '../../../test/support/script-states';
import {
  delayedTaskScripts,
  cancelTask,
  rescheduleTask,
  scheduleTask,
  scheduleTasks,
} from '../src/delayed-task.scripts';
import { putTasks, WRITES } from './states-tasks';

describe('each script of a queue, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates(delayedTaskScripts, ['waits']);
  const schedule = (tasks: readonly string[], conflict = 'keep') =>
    states.call(scheduleTasks, { conflict, operationMs: 500, tasks });
  const one = (when: string, id = 'a') => states.call(scheduleTask, { id, when, record: `r-${id}`, operationMs: 500 });
  const cancel = (id: string, from = 'all') => states.call(cancelTask, { id, from, operationMs: 500 });
  const reschedule = (id: string, when: string, from = 'due') =>
    states.call(rescheduleTask, { id, when, from, operationMs: 500 });
  const put = (waits?: string | number) => putTasks(states, waits);

  it('reschedule: moves nothing without a record', async () => {
    states.put('ZADD', 'due', 5, 'ghost');
    const before = states.keys();
    expect(await states.after(reschedule('ghost', 'd1'))).toEqual([
      { runAtMs: 0, status: 'unknown' },
      { ...before, operation: 'unknown | 500' },
    ]);
  });

  it.each([
    ['waits', 'all', 'cancelled'],
    ['waits', 'running', 'cancelled'],
    ['waits', 'dead', 'unknown'],
    ['runs', 'all', 'running'],
    ['runs', 'running', 'cancelled'],
    ['runs', 'dead', 'unknown'],
    ['dead', 'all', 'dead'],
    ['dead', 'running', 'dead'],
    ['dead', 'dead', 'cancelled'],
    ['none', 'all', 'unknown'],
  ])('cancel: the task "%s" from "%s" is %s', async (id, from, status) => {
    put();
    const before = states.keys();
    const [reply, keys] = await states.after(cancel(id, from));
    expect(reply).toBe(status);
    const has = ['due', 'leased', 'tasks', 'runs', 'dead'].filter((name) =>
      RegExp(`\\b${id}[=@]`).test(keys[name] ?? ''),
    );
    const had = ['due', 'leased', 'tasks', 'runs', 'dead'].filter((name) =>
      RegExp(`\\b${id}[=@]`).test(before[name] ?? ''),
    );
    expect(has).toEqual(status === 'cancelled' ? [] : had);
    expect(keys.operation).toBe(status === 'cancelled' ? '1 | 500' : `${status} | 500`);
    expect(await cancel(id, from)).toBe(status);
  });

  it('cancel and reschedule: a copy that comes late does nothing to a task that was scheduled meanwhile', async () => {
    for (const call of [() => cancel('a'), () => cancel('a', 'running'), () => reschedule('a', 'd0')]) {
      for (const key of ['operation', 'due', 'tasks']) states.put('DEL', key);
      const first = await call();
      expect(['unknown', { runAtMs: 0, status: 'unknown' }]).toContainEqual(first);
      states.put('ZADD', 'due', NOW + 50, 'a');
      states.put('HSET', 'tasks', 'a', 'r');
      const before = states.keys();
      expect(await states.after(call())).toEqual([first, before]);
    }
    states.put('DEL', 'operation');
    put();
    expect(await cancel('runs')).toBe('running');
    states.clock.set(NOW + 60);
    const before = states.keys();
    expect(await states.after(cancel('runs'))).toEqual(['running', before]);
  });

  it('cancel: takes a task whose lease has ended, and leaves the others', async () => {
    put();
    states.clock.set(NOW + 60);
    expect(await states.after(cancel('runs'))).toEqual([
      'cancelled',
      {
        dead: 'dead@1799999999930',
        due: 'waits@1800000000050',
        operation: '1 | 500',
        published: 'cancelled runs',
        runs: 'dead=3 d t 1 2 3 e, waits=1 r t 4 5 6 e',
        tasks: 'dead=d, waits=w',
        waits: '1800000000100 | 6940',
      },
    ]);
    states.clock.set(NOW + 59);
    put();
    states.put('DEL', 'operation');
    expect(await cancel('runs')).toBe('running');
  });

  it('reschedule: moves a waiting task, and returns a replay the first result', async () => {
    put();
    expect(await states.after(reschedule('waits', 'd99'))).toEqual([
      { status: 'moved', runAtMs: 1800000000099 },
      {
        dead: 'dead@1799999999930',
        due: 'waits@1800000000099',
        leased: 'runs@1800000000060',
        operation: '1800000000099 | 500',
        runs: 'dead=3 d t 1 2 3 e, runs=2 l t 7 8 9 e, waits=1 w t 1800000000099 5 6 e',
        tasks: 'dead=d, runs=r, waits=w',
        waits: '1800000000099 | 60000',
        published: 'due',
      },
    ]);
    states.clock.set(NOW + 1);
    expect(await states.after(reschedule('waits', 'd3'))).toEqual([
      { status: 'moved', runAtMs: 1800000000099 },
      {
        dead: 'dead@1799999999930',
        due: 'waits@1800000000099',
        leased: 'runs@1800000000060',
        operation: '1800000000099 | 499',
        runs: 'dead=3 d t 1 2 3 e, runs=2 l t 7 8 9 e, waits=1 w t 1800000000099 5 6 e',
        tasks: 'dead=d, runs=r, waits=w',
        waits: '1800000000099 | 59999',
      },
    ]);
    states.put('DEL', 'operation');
    expect(await states.after(reschedule('waits', `a${NOW + 99}`))).toEqual([
      { status: 'moved', runAtMs: 1800000000099 },
      {
        dead: 'dead@1799999999930',
        due: 'waits@1800000000099',
        leased: 'runs@1800000000060',
        operation: '1800000000099 | 500',
        runs: 'dead=3 d t 1 2 3 e, runs=2 l t 7 8 9 e, waits=1 w t 1800000000099 5 6 e',
        tasks: 'dead=d, runs=r, waits=w',
        waits: '1800000000099 | 59999',
      },
    ]);
    states.put('DEL', 'operation');
    states.put('HDEL', 'runs', 'waits');
    expect(await states.after(reschedule('waits', 'd0'))).toEqual([
      { status: 'moved', runAtMs: 1800000000001 },
      {
        dead: 'dead@1799999999930',
        due: 'waits@1800000000001',
        leased: 'runs@1800000000060',
        operation: '1800000000001 | 500',
        runs: 'dead=3 d t 1 2 3 e, runs=2 l t 7 8 9 e, waits=0 w - 1800000000001 0 0 ',
        tasks: 'dead=d, runs=r, waits=w',
        waits: '1800000000001 | 60000',
        published: 'due',
      },
    ]);
  });

  it('reschedule: makes a dead letter due', async () => {
    put('x');
    expect(await states.after(reschedule('dead', 'd9', 'dead'))).toEqual([
      { status: 'moved', runAtMs: 1800000000009 },
      {
        due: 'dead@1800000000009, waits@1800000000050',
        leased: 'runs@1800000000060',
        operation: '1800000000009 | 500',
        runs: 'dead=0 w - 1800000000009 0 0 , runs=2 l t 7 8 9 e, waits=1 r t 4 5 6 e',
        tasks: 'dead=d, runs=r, waits=w',
        published: 'due',
        waits: '1800000000009 | 60000',
      },
    ]);
    states.put('DEL', 'operation');
    states.put('DEL', 'waits');
    expect(await states.after(reschedule('waits', 'd1'))).toEqual([
      { status: 'moved', runAtMs: 1800000000001 },
      {
        due: 'waits@1800000000001, dead@1800000000009',
        leased: 'runs@1800000000060',
        operation: '1800000000001 | 500',
        runs: 'dead=0 w - 1800000000009 0 0 , runs=2 l t 7 8 9 e, waits=1 w t 1800000000001 5 6 e',
        tasks: 'dead=d, runs=r, waits=w',
        waits: '1800000000001 | 60000',
        published: 'due',
      },
    ]);
  });

  it.each([
    ['runs', 'd1', 'due', { runAtMs: 0, status: 'running' }],
    ['runs', 'd1', 'dead', { runAtMs: 0, status: 'running' }],
    ['dead', 'd1', 'due', { runAtMs: 0, status: 'dead' }],
    ['waits', 'd1', 'dead', { runAtMs: 0, status: 'unknown' }],
    ['none', 'd1', 'due', { runAtMs: 0, status: 'unknown' }],
    ['none', 'd1', 'dead', { runAtMs: 0, status: 'unknown' }],
    ['lost', 'd1', 'due', { runAtMs: 0, status: 'unknown' }],
    ['waits', 'x', 'due', 'error BADTIME'],
  ])('reschedule: the task "%s" to "%s" from "%s" changes nothing', async (id, when, from, reply) => {
    put();
    states.put('HSET', 'tasks', 'lost', 'l');
    const before = states.keys();
    const note = typeof reply === 'string' ? {} : { operation: `${reply.status} | 500` };
    expect(await states.after(reschedule(id, when, from))).toEqual([reply, { ...before, ...note }]);
  });

  it('all that write check the permissions before the first write', async () => {
    const names = [...WRITES.map((name) => `${name} due`), ...WRITES];
    const replace = () => schedule(['waits', 'd1', 'x'], 'replace');
    for (const call of [replace, () => cancel('waits'), () => reschedule('waits', 'd1')]) {
      expect(await states.withDenied(names, put, call)).toEqual(each(names, 'error NOTALLOWED'));
    }
    const ofOne = ['HSET tasks', 'SET operation'];
    expect(await states.withDenied(ofOne, put, () => one('d1'))).toEqual(each(ofOne, 'error NOTALLOWED'));
  });

  it('all that write fail before they change anything if a key has another type', async () => {
    const common = ['due', 'leased', 'tasks', 'runs', 'dead', 'operation'];
    const replace = () => schedule(['waits', 'd1', 'x', 'a', 'd1', 'x'], 'replace');
    const setUp = () => put();
    expect(await states.withOtherTypes(common, setUp, () => schedule(['a', 'd1', 'x']))).toEqual(
      each(common, 'error WRONGTYPE'),
    );
    const replaceAll = () => schedule(['runs', 'd1', 'x', 'dead', 'd1', 'x'], 'replace');
    expect(await states.withOtherTypes(common, setUp, replaceAll)).toEqual(each(common, 'error WRONGTYPE'));
    expect(await states.withOtherTypes([...common, 'waits'], setUp, replace)).toEqual(
      each([...common, 'waits'], 'error WRONGTYPE'),
    );
    expect(await states.withOtherTypes(common, setUp, () => cancel('waits'))).toEqual(each(common, 'error WRONGTYPE'));
    expect(await states.withOtherTypes([...common, 'waits'], setUp, () => reschedule('waits', 'd1'))).toEqual(
      each([...common, 'waits'], 'error WRONGTYPE'),
    );
    const ofOne = ['due', 'tasks', 'waits', 'operation'];
    expect(await states.withOtherTypes(ofOne, setUp, () => one('d1'))).toEqual(each(ofOne, 'error WRONGTYPE'));
  });
});
