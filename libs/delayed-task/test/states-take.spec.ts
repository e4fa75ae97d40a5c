import { NOW, ScriptStates } from '../../../test/support/script-states';
import { delayedTaskScripts } from '../src/delayed-task.scripts';
import { takeTasks } from '../src/worker/worker.scripts';
import { NO_LIMITS } from './support';

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

  it('takes nothing if there is nothing', async () => {
    expect(await states.after(take())).toEqual([
      { now: 1800000000000, nextAt: 0, buried: [], tasks: [] },
      { waits: '9007199254740991 | 60000' },
    ]);
  });

  it('begins at the first attempt if the run is that of an earlier task with this id, whose record was evicted', async () => {
    due('dead', NOW - 1, `3 d old ${NOW - 9} 5 6 an error`);
    due('ran', NOW, `3 l old ${NOW - 9} 0 0 `);
    expect(await states.after(take())).toMatchObject([
      { tasks: [{ attempt: 1 }, { attempt: 1 }] },
      { runs: `dead=1 l token ${NOW - 1} 0 0 , ran=1 l token ${NOW} 0 0 ` },
    ]);
  });

  it('takes due tasks, and returns a replay the first result', async () => {
    due('new', NOW);
    due('retried', NOW - 3, `1 r old ${NOW - 3} 5 6 an error`);
    due('back', NOW - 2, `1 b old ${NOW - 7} 0 6 `);
    due('moved', NOW - 1, `1 w old ${NOW - 1} 0 0 `);
    due('norm', NOW - 4, 'norm');
    due('later', NOW + 1);
    states.clock.set(NOW + 0.25);
    expect(await states.after(take())).toEqual([
      {
        now: 1800000000000,
        nextAt: 1800000000001,
        buried: [],
        tasks: [
          { id: 'norm', record: '3\n0\n-\nnorm\n{}', attempt: 1, runAtMs: 1799999999996 },
          { id: 'retried', record: '3\n0\n-\nretried\n{}', attempt: 2, runAtMs: 1799999999997 },
          { id: 'back', record: '3\n0\n-\nback\n{}', attempt: 2, runAtMs: 1799999999993 },
          { id: 'moved', record: '3\n0\n-\nmoved\n{}', attempt: 2, runAtMs: 1799999999999 },
          { id: 'new', record: '3\n0\n-\nnew\n{}', attempt: 1, runAtMs: 1800000000000 },
        ],
      },
      {
        due: 'later@1800000000001',
        leased: 'back@1800000000900, moved@1800000000900, new@1800000000900, norm@1800000000900, retried@1800000000900',
        runs: 'back=2 l token 1799999999993 0 6 , moved=2 l token 1799999999999 0 0 , new=1 l token 1800000000000 0 0 , norm=1 l token 1799999999996 0 0 , retried=2 l token 1799999999997 5 6 an error',
        taken: 'token\nnorm\nretried\nback\nmoved\nnew\n | 900',
        tasks:
          'back=3\n0\n-\nback\n{}, later=3\n0\n-\nlater\n{}, moved=3\n0\n-\nmoved\n{}, new=3\n0\n-\nnew\n{}, norm=3\n0\n-\nnorm\n{}, retried=3\n0\n-\nretried\n{}',
        waits: '1800000000001 | 60000',
      },
    ]);
    states.clock.set(NOW + 1);
    states.put('HSET', 'runs', 'new', '1 l other 1 0 0 ', 'back', '1 b token 1 0 0 ');
    states.put('HDEL', 'tasks', 'retried');
    states.put('HDEL', 'runs', 'norm');
    expect(await states.after(take())).toEqual([
      {
        now: 1800000000001,
        nextAt: 1800000000001,
        buried: [],
        tasks: [{ id: 'moved', record: '3\n0\n-\nmoved\n{}', attempt: 2, runAtMs: 1799999999999 }],
      },
      {
        due: 'later@1800000000001',
        leased: 'back@1800000000900, moved@1800000000900, new@1800000000900, norm@1800000000900, retried@1800000000900',
        runs: 'back=1 b token 1 0 0 , moved=2 l token 1799999999999 0 0 , new=1 l other 1 0 0 , retried=2 l token 1799999999997 5 6 an error',
        taken: 'token\nnorm\nretried\nback\nmoved\nnew\n | 899',
        tasks:
          'back=3\n0\n-\nback\n{}, later=3\n0\n-\nlater\n{}, moved=3\n0\n-\nmoved\n{}, new=3\n0\n-\nnew\n{}, norm=3\n0\n-\nnorm\n{}',
        waits: '1800000000001 | 60000',
      },
    ]);
    expect(await states.after(take(9, 'toke'))).toEqual([
      {
        now: 1800000000001,
        nextAt: 1800000000900,
        buried: [],
        tasks: [{ id: 'later', record: '3\n0\n-\nlater\n{}', attempt: 1, runAtMs: 1800000000001 }],
      },
      {
        leased:
          'back@1800000000900, moved@1800000000900, new@1800000000900, norm@1800000000900, retried@1800000000900, later@1800000000901',
        runs: 'back=1 b token 1 0 0 , later=1 l toke 1800000000001 0 0 , moved=2 l token 1799999999999 0 0 , new=1 l other 1 0 0 , retried=2 l token 1799999999997 5 6 an error',
        taken: 'toke\nlater\n | 900',
        tasks:
          'back=3\n0\n-\nback\n{}, later=3\n0\n-\nlater\n{}, moved=3\n0\n-\nmoved\n{}, new=3\n0\n-\nnew\n{}, norm=3\n0\n-\nnorm\n{}',
        waits: '1800000000900 | 60000',
      },
    ]);
  });

  it('takes tasks whose lease has ended first, and no more than the limit', async () => {
    leased('ended', NOW, `1 l old ${NOW - 9} 0 0 `);
    leased('running', NOW + 1, `1 l old ${NOW - 8} 0 0 `);
    leased('bare', NOW - 1);
    due('one', NOW - 2);
    due('two', NOW - 1);
    expect(await states.after(take(3))).toEqual([
      {
        now: 1800000000000,
        nextAt: 1799999999999,
        buried: [],
        tasks: [
          { id: 'bare', record: '3\n0\n-\nbare\n{}', attempt: 1, runAtMs: 1800000000000 },
          { id: 'ended', record: '3\n0\n-\nended\n{}', attempt: 2, runAtMs: 1799999999991 },
          { id: 'one', record: '3\n0\n-\none\n{}', attempt: 1, runAtMs: 1799999999998 },
        ],
      },
      {
        due: 'two@1799999999999',
        leased: 'running@1800000000001, bare@1800000000900, ended@1800000000900, one@1800000000900',
        runs: 'bare=1 l token 1800000000000 0 0 , ended=2 l token 1799999999991 0 0 , one=1 l token 1799999999998 0 0 , running=1 l old 1799999999992 0 0 ',
        taken: 'token\nbare\nended\none\n | 900',
        tasks:
          'bare=3\n0\n-\nbare\n{}, ended=3\n0\n-\nended\n{}, one=3\n0\n-\none\n{}, running=3\n0\n-\nrunning\n{}, two=3\n0\n-\ntwo\n{}',
      },
    ]);
    expect(await states.after(take(1, 'next'))).toEqual([
      {
        now: 1800000000000,
        nextAt: 1800000000001,
        buried: [],
        tasks: [{ id: 'two', record: '3\n0\n-\ntwo\n{}', attempt: 1, runAtMs: 1799999999999 }],
      },
      {
        leased: 'running@1800000000001, bare@1800000000900, ended@1800000000900, one@1800000000900, two@1800000000900',
        runs: 'bare=1 l token 1800000000000 0 0 , ended=2 l token 1799999999991 0 0 , one=1 l token 1799999999998 0 0 , running=1 l old 1799999999992 0 0 , two=1 l next 1799999999999 0 0 ',
        taken: 'next\ntwo\n | 900',
        tasks:
          'bare=3\n0\n-\nbare\n{}, ended=3\n0\n-\nended\n{}, one=3\n0\n-\none\n{}, running=3\n0\n-\nrunning\n{}, two=3\n0\n-\ntwo\n{}',
      },
    ]);
    expect(await states.after(take(1, 'third'))).toEqual([
      { now: 1800000000000, nextAt: 1800000000001, buried: [], tasks: [] },
      {
        leased: 'running@1800000000001, bare@1800000000900, ended@1800000000900, one@1800000000900, two@1800000000900',
        runs: 'bare=1 l token 1800000000000 0 0 , ended=2 l token 1799999999991 0 0 , one=1 l token 1799999999998 0 0 , running=1 l old 1799999999992 0 0 , two=1 l next 1799999999999 0 0 ',
        taken: 'next\ntwo\n | 900',
        tasks:
          'bare=3\n0\n-\nbare\n{}, ended=3\n0\n-\nended\n{}, one=3\n0\n-\none\n{}, running=3\n0\n-\nrunning\n{}, two=3\n0\n-\ntwo\n{}',
        waits: '1800000000001 | 60000',
      },
    ]);
  });

  it('takes no more ended leases than the limit', async () => {
    leased('one', NOW - 3, `1 l old ${NOW - 9} 0 0 `);
    leased('two', NOW - 2, `1 l old ${NOW - 9} 0 0 `);
    due('three', NOW - 1);
    expect(await states.after(take(1))).toEqual([
      {
        now: 1800000000000,
        nextAt: 1799999999998,
        buried: [],
        tasks: [{ id: 'one', record: '3\n0\n-\none\n{}', attempt: 2, runAtMs: 1799999999991 }],
      },
      {
        due: 'three@1799999999999',
        leased: 'two@1799999999998, one@1800000000900',
        runs: 'one=2 l token 1799999999991 0 0 , two=1 l old 1799999999991 0 0 ',
        taken: 'token\none\n | 900',
        tasks: 'one=3\n0\n-\none\n{}, three=3\n0\n-\nthree\n{}, two=3\n0\n-\ntwo\n{}',
      },
    ]);
    expect(await states.after(take(1, 'next'))).toEqual([
      {
        now: 1800000000000,
        nextAt: 1799999999999,
        buried: [],
        tasks: [{ id: 'two', record: '3\n0\n-\ntwo\n{}', attempt: 2, runAtMs: 1799999999991 }],
      },
      {
        due: 'three@1799999999999',
        leased: 'one@1800000000900, two@1800000000900',
        runs: 'one=2 l token 1799999999991 0 0 , two=2 l next 1799999999991 0 0 ',
        taken: 'next\ntwo\n | 900',
        tasks: 'one=3\n0\n-\none\n{}, three=3\n0\n-\nthree\n{}, two=3\n0\n-\ntwo\n{}',
      },
    ]);
  });

  it('notes when the next task is due or the next lease ends', async () => {
    due('due', NOW + 50);
    expect((await states.after(take()))[0]).toEqual({
      now: 1800000000000,
      nextAt: 1800000000050,
      buried: [],
      tasks: [],
    });
    leased('runs', NOW + 40, `1 l old 1 0 0 `);
    expect((await states.after(take()))[0]).toEqual({
      now: 1800000000000,
      nextAt: 1800000000040,
      buried: [],
      tasks: [],
    });
    states.put('DEL', 'due');
    expect(await states.after(take())).toEqual([
      { now: 1800000000000, nextAt: 1800000000040, buried: [], tasks: [] },
      {
        leased: 'runs@1800000000040',
        runs: 'runs=1 l old 1 0 0 ',
        tasks: 'due=3\n0\n-\ndue\n{}, runs=3\n0\n-\nruns\n{}',
        waits: '1800000000040 | 60000',
      },
    ]);
  });
});
