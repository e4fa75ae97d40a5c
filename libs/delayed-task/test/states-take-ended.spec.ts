import { each, NOW, ScriptStates } from '../../../test/support/script-states';
import { delayedTaskScripts } from '../src/delayed-task.scripts';
import { takeTasks } from '../src/worker/worker.scripts';
import { NO_LIMITS } from './support';
import { WRITES } from './states-tasks';

const LEASE_ENDED =
  'the lease ended in the last attempt, for example because the worker died, was blocked or could not reach Redis';

describe('take, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates(delayedTaskScripts, ['waits']);
  const take = (limit = 9, token = 'token') => states.call(takeTasks, { token, limit, leaseMs: 900, ...NO_LIMITS });
  const record = (name: string, attempts = 3) => `${attempts}\n0\n-\n${name}\n{}`;
  const due = (id: string, ms: number, run?: string) => {
    states.put('ZADD', 'due', ms, id);
    states.put('HSET', 'tasks', id, record(id));
    if (run !== undefined) states.put('HSET', 'runs', id, run);
  };
  const leased = (id: string, ms: number, run?: string) => {
    states.put('ZADD', 'leased', ms, id);
    states.put('HSET', 'tasks', id, record(id));
    if (run !== undefined) states.put('HSET', 'runs', id, run);
  };

  // Its record is that of the next task, which would run twice.
  it('returns a replay no task that another one follows by now', async () => {
    due('a', NOW);
    due('b', NOW);
    const [{ tasks }] = (await states.after(take())) as unknown as [{ tasks: { id: string }[] }];
    expect(tasks.map(({ id }) => id)).toEqual(['a', 'b']);
    states.put('HSET', 'runs', 'a', `1 a token ${NOW} 0 0 `);
    const [again] = (await states.after(take())) as unknown as [{ tasks: { id: string }[] }];
    expect(again.tasks.map(({ id }) => id)).toEqual(['b']);
  });

  it('dead-letters tasks whose lease ended in the last attempt, and returns a replay the first result', async () => {
    leased('last', NOW, `3 l old ${NOW - 9} 0 7 an error`);
    leased('failed', NOW, `4 l old ${NOW - 8} 6 7 an error`);
    leased('more', NOW - 1, `2 l old ${NOW - 9} 0 0 `);
    due('retried', NOW, `3 r old ${NOW} 0 0 `);
    expect(await states.after(take())).toEqual([
      {
        now: 1800000000000,
        nextAt: 1800000000900,
        buried: [
          { id: 'failed', name: 'failed', attempt: 4 },
          { id: 'last', name: 'last', attempt: 3 },
        ],
        tasks: [
          { id: 'more', record: '3\n0\n-\nmore\n{}', attempt: 3, runAtMs: 1799999999991 },
          { id: 'retried', record: '3\n0\n-\nretried\n{}', attempt: 4, runAtMs: 1800000000000 },
        ],
      },
      {
        dead: 'failed@1800000000000, last@1800000000000',
        leased: 'more@1800000000900, retried@1800000000900',
        runs: 'failed=4 d old 1799999999992 6 0 the lease ended in the last attempt, for example because the worker died, was blocked or could not reach Redis, last=3 d old 1799999999991 1800000000000 0 the lease ended in the last attempt, for example because the worker died, was blocked or could not reach Redis, more=3 l token 1799999999991 0 0 , retried=4 l token 1800000000000 0 0 ',
        taken: 'token\nmore\nretried\nfailed\nlast | 900',
        tasks:
          'failed=3\n0\n-\nfailed\n{}, last=3\n0\n-\nlast\n{}, more=3\n0\n-\nmore\n{}, retried=3\n0\n-\nretried\n{}',
        waits: '1800000000900 | 60000',
      },
    ]);
    states.clock.set(NOW + 1);
    expect(await states.after(take())).toEqual([
      {
        now: 1800000000001,
        nextAt: 1800000000900,
        buried: [
          { id: 'failed', name: 'failed', attempt: 4 },
          { id: 'last', name: 'last', attempt: 3 },
        ],
        tasks: [
          { id: 'more', record: '3\n0\n-\nmore\n{}', attempt: 3, runAtMs: 1799999999991 },
          { id: 'retried', record: '3\n0\n-\nretried\n{}', attempt: 4, runAtMs: 1800000000000 },
        ],
      },
      {
        dead: 'failed@1800000000000, last@1800000000000',
        leased: 'more@1800000000900, retried@1800000000900',
        runs: 'failed=4 d old 1799999999992 6 0 the lease ended in the last attempt, for example because the worker died, was blocked or could not reach Redis, last=3 d old 1799999999991 1800000000000 0 the lease ended in the last attempt, for example because the worker died, was blocked or could not reach Redis, more=3 l token 1799999999991 0 0 , retried=4 l token 1800000000000 0 0 ',
        taken: 'token\nmore\nretried\nfailed\nlast | 899',
        tasks:
          'failed=3\n0\n-\nfailed\n{}, last=3\n0\n-\nlast\n{}, more=3\n0\n-\nmore\n{}, retried=3\n0\n-\nretried\n{}',
        waits: '1800000000900 | 60000',
      },
    ]);
    states.put('HSET', 'runs', 'last', `3 d old 1 0 7 an error`, 'failed', `3 r old 1 0 7 ${LEASE_ENDED}`);
    expect(await states.after(take())).toEqual([
      {
        now: 1800000000001,
        nextAt: 1800000000900,
        buried: [],
        tasks: [
          { id: 'more', record: '3\n0\n-\nmore\n{}', attempt: 3, runAtMs: 1799999999991 },
          { id: 'retried', record: '3\n0\n-\nretried\n{}', attempt: 4, runAtMs: 1800000000000 },
        ],
      },
      {
        dead: 'failed@1800000000000, last@1800000000000',
        leased: 'more@1800000000900, retried@1800000000900',
        runs: 'failed=3 r old 1 0 7 the lease ended in the last attempt, for example because the worker died, was blocked or could not reach Redis, last=3 d old 1 0 7 an error, more=3 l token 1799999999991 0 0 , retried=4 l token 1800000000000 0 0 ',
        taken: 'token\nmore\nretried\nfailed\nlast | 899',
        tasks:
          'failed=3\n0\n-\nfailed\n{}, last=3\n0\n-\nlast\n{}, more=3\n0\n-\nmore\n{}, retried=3\n0\n-\nretried\n{}',
        waits: '1800000000900 | 60000',
      },
    ]);
  });

  it('dead-letters a task alone', async () => {
    leased('last', NOW, `3 l old ${NOW - 9} 0 7 an error`);
    expect(await states.after(take())).toEqual([
      { now: 1800000000000, nextAt: 0, buried: [{ id: 'last', name: 'last', attempt: 3 }], tasks: [] },
      {
        dead: 'last@1800000000000',
        runs: 'last=3 d old 1799999999991 1800000000000 0 the lease ended in the last attempt, for example because the worker died, was blocked or could not reach Redis',
        taken: 'token\n\nlast | 900',
        tasks: 'last=3\n0\n-\nlast\n{}',
        waits: '9007199254740991 | 60000',
      },
    ]);
    expect(await states.after(take())).toEqual([
      { now: 1800000000000, nextAt: 0, buried: [{ id: 'last', name: 'last', attempt: 3 }], tasks: [] },
      {
        dead: 'last@1800000000000',
        runs: 'last=3 d old 1799999999991 1800000000000 0 the lease ended in the last attempt, for example because the worker died, was blocked or could not reach Redis',
        taken: 'token\n\nlast | 900',
        tasks: 'last=3\n0\n-\nlast\n{}',
        waits: '9007199254740991 | 60000',
      },
    ]);
  });

  it('keeps the time of a first failure that is 1', async () => {
    leased('last', NOW, '3 l old 5 1 0 an error');
    await take();
    expect(states.put('HGET', 'runs', 'last')).toBe(`3 d old 5 1 0 ${LEASE_ENDED}`);
  });

  it('returns each task once to a replay, when the leases end, and with an id that is a part of the token', async () => {
    due('ken', NOW);
    due('other', NOW);
    await take();
    states.clock.set(NOW + 900);
    expect(((await take()) as { tasks: unknown[] }).tasks).toHaveLength(2);
  });

  it('forgets one task without a record', async () => {
    leased('lost', NOW, `1 l old ${NOW - 9} 0 0 `);
    states.put('HDEL', 'tasks', 'lost');
    await take();
    expect(states.keys()).toEqual({ waits: '9007199254740991 | 60000' });
  });

  it('reads records without attempts or a name', async () => {
    leased('bare', NOW, `1 l old ${NOW - 9} 0 0 `);
    states.put('HSET', 'tasks', 'bare', 'x\ny\nz\nthe name');
    expect(await states.after(take())).toEqual([
      { now: 1800000000000, nextAt: 0, buried: [{ id: 'bare', name: 'the name', attempt: 1 }], tasks: [] },
      {
        dead: 'bare@1800000000000',
        runs: 'bare=1 d old 1799999999991 1800000000000 0 the lease ended in the last attempt, for example because the worker died, was blocked or could not reach Redis',
        taken: 'token\n\nbare | 900',
        tasks: 'bare=x\ny\nz\nthe name',
        waits: '9007199254740991 | 60000',
      },
    ]);
  });

  it('forgets tasks without a record', async () => {
    leased('lost', NOW, `1 l old ${NOW - 9} 0 0 `);
    due('gone', NOW - 5, `1 r old ${NOW - 9} 0 0 `);
    due('kept', NOW - 4);
    states.put('HDEL', 'tasks', 'lost', 'gone');
    expect(await states.after(take())).toEqual([
      {
        now: 1800000000000,
        nextAt: 1800000000900,
        buried: [],
        tasks: [{ id: 'kept', record: '3\n0\n-\nkept\n{}', attempt: 1, runAtMs: 1799999999996 }],
      },
      {
        leased: 'kept@1800000000900',
        runs: 'kept=1 l token 1799999999996 0 0 ',
        taken: 'token\nkept\n | 900',
        tasks: 'kept=3\n0\n-\nkept\n{}',
        waits: '1800000000900 | 60000',
      },
    ]);
  });

  it('takes records of up to 16 MiB, and a larger one alone', async () => {
    const put = (first: number, second: number) => {
      states.put('DEL', 'due');
      states.put('DEL', 'tasks');
      due('a', NOW - 2);
      due('b', NOW - 1);
      states.put('HSET', 'tasks', 'a', '3'.padEnd(first, 'x'), 'b', '3'.padEnd(second, 'x'));
    };
    const idsOf = (reply: unknown) => (reply as { tasks: { id: string }[] }).tasks.map(({ id }) => id);
    const half = 8 * 1024 * 1024;
    put(half, half);
    expect(idsOf(await take(9, 't1'))).toEqual(['a', 'b']);
    put(half, half + 1);
    expect(idsOf(await take(9, 't2'))).toEqual(['a']);
    expect(states.put('ZRANGE', 'due', 0, -1)).toEqual(['b']);
    put(2 * half + 1, 1);
    expect(idsOf(await take(9, 't3'))).toEqual(['a']);
  });

  it('checks permissions and types before the first write', async () => {
    const setUp = () => {
      due('a', NOW);
      leased('b', NOW, `1 l old ${NOW - 9} 0 0 `);
    };
    const names = [...WRITES.map((name) => `${name} due`), ...WRITES];
    expect(await states.withDenied(names, setUp, () => take())).toEqual(each(names, 'error NOTALLOWED'));
    const keys = ['due', 'leased', 'tasks', 'runs', 'dead', 'taken'];
    expect(await states.withOtherTypes(keys, setUp, () => take())).toEqual(each(keys, 'error WRONGTYPE'));
  });
});
