import { each, NOW, ScriptStates } from '../../../test/support/script-states';
import { delayedTaskScripts, clearDead } from '../src/delayed-task.scripts';
import { putTasks, WRITES } from './states-tasks';

type Args = Readonly<Record<string, string | number>>;

describe('each script of dead letters, in a state and at a time of which all is known,', () => {
  const states = new ScriptStates(delayedTaskScripts, ['waits']);
  const clear = (args: Args = {}) =>
    states.call(clearDead, {
      verb: 'replay',
      name: '',
      untilMs: NOW + 9,
      afterMs: 0,
      afterId: '',
      limit: 9,
      operationMs: 500,
      ...args,
    });
  const record = (name: string) => `3\n0\n-\n${name}\n{}\n${NOW}`;
  /** Dead letters of three times; of the second time there are five, whose ids are prefixes of each other, or are not text. */
  const putDead = () => {
    states.put('ZADD', 'dead', NOW - 3, 'z', NOW - 2, 'a', NOW - 2, 'aa', NOW - 2, 'ab', NOW - 2, 'b', NOW - 2, 'é');
    states.put('ZADD', 'dead', NOW, 'c', NOW + 1, 'd');
    for (const id of ['z', 'a', 'aa', 'b', 'é', 'c', 'd']) {
      states.put('HSET', 'tasks', id, record(id === 'aa' || id === 'z' ? 'mail' : 'other'));
      if (id !== 'b') states.put('HSET', 'runs', id, `run ${id}`);
    }
    states.put('SET', 'waits', NOW + 1, 'PX', 7_000);
  };
  it.each(['replay', 'drop'])('clear-dead: a late copy of a %s that found none clears none', async (verb) => {
    expect(await states.after(clear({ verb }))).toEqual([
      { done: 0, untilMs: 1800000000000, lastMs: 0, lastId: '' },
      { operation: '0 1800000000000 0  | 500' },
    ]);
    putDead();
    states.clock.set(NOW + 1);
    const [reply, { dead = '' }] = (await states.after(clear({ verb }))) as [object, { dead?: string }];
    expect(reply).toEqual({ done: 0, untilMs: 1800000000000, lastMs: 0, lastId: '' });
    expect(dead.split(', ')).toHaveLength(8);
  });

  it('clear-dead: makes them due, wakes the workers, and returns a replay the first result', async () => {
    putDead();
    expect(await states.after(clear({ limit: 4 }))).toEqual([
      { done: 3, untilMs: 1800000000000, lastMs: 1799999999998, lastId: 'ab' },
      {
        dead: 'ab@1799999999998, b@1799999999998, é@1799999999998, c@1800000000000, d@1800000000001',
        due: 'a@1800000000000, aa@1800000000000, z@1800000000000',
        operation: '3 1800000000000 1799999999998 ab | 500',
        runs: 'c=run c, d=run d, é=run é',
        tasks:
          'a=3\n0\n-\nother\n{}\n1800000000000, aa=3\n0\n-\nmail\n{}\n1800000000000, b=3\n0\n-\nother\n{}\n1800000000000, c=3\n0\n-\nother\n{}\n1800000000000, d=3\n0\n-\nother\n{}\n1800000000000, z=3\n0\n-\nmail\n{}\n1800000000000, é=3\n0\n-\nother\n{}\n1800000000000',
        waits: '1800000000000 | 60000',
        published: 'due',
      },
    ]);
    states.clock.set(NOW + 1);
    expect(await states.after(clear({ limit: 4 }))).toEqual([
      { done: 3, untilMs: 1800000000000, lastMs: 1799999999998, lastId: 'ab' },
      {
        dead: 'ab@1799999999998, b@1799999999998, é@1799999999998, c@1800000000000, d@1800000000001',
        due: 'a@1800000000000, aa@1800000000000, z@1800000000000',
        operation: '3 1800000000000 1799999999998 ab | 499',
        runs: 'c=run c, d=run d, é=run é',
        tasks:
          'a=3\n0\n-\nother\n{}\n1800000000000, aa=3\n0\n-\nmail\n{}\n1800000000000, b=3\n0\n-\nother\n{}\n1800000000000, c=3\n0\n-\nother\n{}\n1800000000000, d=3\n0\n-\nother\n{}\n1800000000000, z=3\n0\n-\nmail\n{}\n1800000000000, é=3\n0\n-\nother\n{}\n1800000000000',
        waits: '1800000000000 | 59999',
      },
    ]);
    states.put('DEL', 'operation');
    expect(await states.after(clear({ untilMs: NOW, afterMs: NOW - 2, afterId: 'ab' }))).toEqual([
      { done: 3, untilMs: 1800000000000, lastMs: 1800000000000, lastId: '' },
      {
        dead: 'ab@1799999999998, d@1800000000001',
        due: 'a@1800000000000, aa@1800000000000, z@1800000000000, b@1800000000001, c@1800000000001, é@1800000000001',
        operation: '3 1800000000000 1800000000000  | 500',
        runs: 'd=run d',
        tasks:
          'a=3\n0\n-\nother\n{}\n1800000000000, aa=3\n0\n-\nmail\n{}\n1800000000000, b=3\n0\n-\nother\n{}\n1800000000000, c=3\n0\n-\nother\n{}\n1800000000000, d=3\n0\n-\nother\n{}\n1800000000000, z=3\n0\n-\nmail\n{}\n1800000000000, é=3\n0\n-\nother\n{}\n1800000000000',
        waits: '1800000000000 | 59999',
      },
    ]);
    states.put('DEL', 'operation');
    expect(await states.after(clear({ untilMs: NOW, afterMs: NOW, afterId: 'c' }))).toEqual([
      { done: 0, untilMs: 1800000000000, lastMs: 0, lastId: '' },
      {
        dead: 'ab@1799999999998, d@1800000000001',
        due: 'a@1800000000000, aa@1800000000000, z@1800000000000, b@1800000000001, c@1800000000001, é@1800000000001',
        operation: '0 1800000000000 0  | 500',
        runs: 'd=run d',
        tasks:
          'a=3\n0\n-\nother\n{}\n1800000000000, aa=3\n0\n-\nmail\n{}\n1800000000000, b=3\n0\n-\nother\n{}\n1800000000000, c=3\n0\n-\nother\n{}\n1800000000000, d=3\n0\n-\nother\n{}\n1800000000000, z=3\n0\n-\nmail\n{}\n1800000000000, é=3\n0\n-\nother\n{}\n1800000000000',
        waits: '1800000000000 | 59999',
      },
    ]);
  });

  it('clear-dead: drops them, also those without a record', async () => {
    putDead();
    expect(await states.after(clear({ verb: 'drop', limit: 4 }))).toEqual([
      { done: 4, untilMs: 1800000000000, lastMs: 1799999999998, lastId: 'ab' },
      {
        dead: 'b@1799999999998, é@1799999999998, c@1800000000000, d@1800000000001',
        operation: '4 1800000000000 1799999999998 ab | 500',
        runs: 'c=run c, d=run d, é=run é',
        tasks:
          'b=3\n0\n-\nother\n{}\n1800000000000, c=3\n0\n-\nother\n{}\n1800000000000, d=3\n0\n-\nother\n{}\n1800000000000, é=3\n0\n-\nother\n{}\n1800000000000',
        waits: '1800000000001 | 7000',
      },
    ]);
    states.put('DEL', 'operation');
    expect(await states.after(clear({ verb: 'drop', limit: 3, afterMs: NOW - 2 }))).toEqual([
      { done: 3, untilMs: 1800000000000, lastMs: 1800000000000, lastId: '' },
      {
        dead: 'd@1800000000001',
        operation: '3 1800000000000 1800000000000  | 500',
        runs: 'd=run d',
        tasks: 'd=3\n0\n-\nother\n{}\n1800000000000',
        waits: '1800000000001 | 7000',
      },
    ]);
  });

  it.each([
    [
      'replay',
      'mail',
      [
        { done: 2, untilMs: 1800000000000, lastMs: 1800000000000, lastId: '' },
        {
          dead: 'a@1799999999998, ab@1799999999998, b@1799999999998, é@1799999999998, c@1800000000000, d@1800000000001',
          due: 'aa@1800000000000, z@1800000000000',
          operation: '2 1800000000000 1800000000000  | 500',
          runs: 'a=run a, c=run c, d=run d, é=run é',
          tasks:
            'a=3\n0\n-\nother\n{}\n1800000000000, aa=3\n0\n-\nmail\n{}\n1800000000000, b=3\n0\n-\nother\n{}\n1800000000000, c=3\n0\n-\nother\n{}\n1800000000000, d=3\n0\n-\nother\n{}\n1800000000000, z=3\n0\n-\nmail\n{}\n1800000000000, é=3\n0\n-\nother\n{}\n1800000000000',
          waits: '1800000000000 | 60000',
          published: 'due',
        },
      ],
    ],
    [
      'drop',
      'mail',
      [
        { done: 2, untilMs: 1800000000000, lastMs: 1800000000000, lastId: '' },
        {
          dead: 'a@1799999999998, ab@1799999999998, b@1799999999998, é@1799999999998, c@1800000000000, d@1800000000001',
          operation: '2 1800000000000 1800000000000  | 500',
          runs: 'a=run a, c=run c, d=run d, é=run é',
          tasks:
            'a=3\n0\n-\nother\n{}\n1800000000000, b=3\n0\n-\nother\n{}\n1800000000000, c=3\n0\n-\nother\n{}\n1800000000000, d=3\n0\n-\nother\n{}\n1800000000000, é=3\n0\n-\nother\n{}\n1800000000000',
          waits: '1800000000001 | 7000',
        },
      ],
    ],
    [
      'drop',
      'none',
      [
        { done: 0, untilMs: 1800000000000, lastMs: 1800000000000, lastId: '' },
        {
          dead: 'z@1799999999997, a@1799999999998, aa@1799999999998, ab@1799999999998, b@1799999999998, é@1799999999998, c@1800000000000, d@1800000000001',
          operation: '0 1800000000000 1800000000000  | 500',
          runs: 'a=run a, aa=run aa, c=run c, d=run d, z=run z, é=run é',
          tasks:
            'a=3\n0\n-\nother\n{}\n1800000000000, aa=3\n0\n-\nmail\n{}\n1800000000000, b=3\n0\n-\nother\n{}\n1800000000000, c=3\n0\n-\nother\n{}\n1800000000000, d=3\n0\n-\nother\n{}\n1800000000000, z=3\n0\n-\nmail\n{}\n1800000000000, é=3\n0\n-\nother\n{}\n1800000000000',
          waits: '1800000000001 | 7000',
        },
      ],
    ],
  ])('clear-dead: can %s those of the name "%s" only', async (verb, name, expected) => {
    putDead();
    expect(await states.after(clear({ verb, name }))).toEqual(expected);
  });

  it.each([
    [
      NOW,
      [
        { done: 1, untilMs: 1800000000000, lastMs: 1799999999930, lastId: '' },
        {
          due: 'dead@1800000000000, waits@1800000000050',
          leased: 'runs@1800000000060',
          operation: '1 1800000000000 1799999999930  | 500',
          runs: 'runs=2 l t 7 8 9 e, waits=1 r t 4 5 6 e',
          tasks: 'dead=d, runs=r, waits=w',
          waits: '1800000000000 | 7000',
        },
      ],
    ],
    [
      NOW + 1,
      [
        { done: 1, untilMs: 1800000000000, lastMs: 1799999999930, lastId: '' },
        {
          due: 'dead@1800000000000, waits@1800000000050',
          leased: 'runs@1800000000060',
          operation: '1 1800000000000 1799999999930  | 500',
          runs: 'runs=2 l t 7 8 9 e, waits=1 r t 4 5 6 e',
          tasks: 'dead=d, runs=r, waits=w',
          waits: '1800000000000 | 60000',
          published: 'due',
        },
      ],
    ],
    [
      'x',
      [
        { done: 1, untilMs: 1800000000000, lastMs: 1799999999930, lastId: '' },
        {
          due: 'dead@1800000000000, waits@1800000000050',
          leased: 'runs@1800000000060',
          operation: '1 1800000000000 1799999999930  | 500',
          runs: 'runs=2 l t 7 8 9 e, waits=1 r t 4 5 6 e',
          tasks: 'dead=d, runs=r, waits=w',
          waits: '1800000000000 | 60000',
          published: 'due',
        },
      ],
    ],
  ])('clear-dead: wakes workers that wait for %s', async (waits, expected) => {
    putTasks(states, waits);
    expect(await states.after(clear())).toEqual(expected);
  });

  it('clear-dead: without a mark, and without dead letters', async () => {
    expect(await states.after(clear())).toEqual([
      { done: 0, untilMs: 1800000000000, lastMs: 0, lastId: '' },
      { operation: '0 1800000000000 0  | 500' },
    ]);
    states.put('DEL', 'operation');
    putTasks(states);
    states.put('DEL', 'waits');
    expect(await states.after(clear())).toEqual([
      { done: 1, untilMs: 1800000000000, lastMs: 1799999999930, lastId: '' },
      {
        due: 'dead@1800000000000, waits@1800000000050',
        leased: 'runs@1800000000060',
        operation: '1 1800000000000 1799999999930  | 500',
        runs: 'runs=2 l t 7 8 9 e, waits=1 r t 4 5 6 e',
        tasks: 'dead=d, runs=r, waits=w',
        waits: '1800000000000 | 60000',
        published: 'due',
      },
    ]);
  });

  it('clear-dead: reads from and up to the times that it is called with', async () => {
    putDead();
    expect(
      await states.after(clear({ verb: 'drop', untilMs: NOW - 2, afterMs: NOW - 2, afterId: 'aa', limit: 2 })),
    ).toEqual([
      { done: 2, untilMs: 1799999999998, lastMs: 1799999999998, lastId: 'b' },
      {
        dead: 'z@1799999999997, a@1799999999998, aa@1799999999998, é@1799999999998, c@1800000000000, d@1800000000001',
        operation: '2 1799999999998 1799999999998 b | 500',
        runs: 'a=run a, aa=run aa, c=run c, d=run d, z=run z, é=run é',
        tasks:
          'a=3\n0\n-\nother\n{}\n1800000000000, aa=3\n0\n-\nmail\n{}\n1800000000000, c=3\n0\n-\nother\n{}\n1800000000000, d=3\n0\n-\nother\n{}\n1800000000000, z=3\n0\n-\nmail\n{}\n1800000000000, é=3\n0\n-\nother\n{}\n1800000000000',
        waits: '1800000000001 | 7000',
      },
    ]);
    states.put('DEL', 'operation');
    expect(
      await states.after(clear({ verb: 'drop', untilMs: NOW - 2, afterMs: NOW - 2, afterId: 'b', limit: 1 })),
    ).toEqual([
      { done: 1, untilMs: 1799999999998, lastMs: 1799999999998, lastId: '' },
      {
        dead: 'z@1799999999997, a@1799999999998, aa@1799999999998, c@1800000000000, d@1800000000001',
        operation: '1 1799999999998 1799999999998  | 500',
        runs: 'a=run a, aa=run aa, c=run c, d=run d, z=run z',
        tasks:
          'a=3\n0\n-\nother\n{}\n1800000000000, aa=3\n0\n-\nmail\n{}\n1800000000000, c=3\n0\n-\nother\n{}\n1800000000000, d=3\n0\n-\nother\n{}\n1800000000000, z=3\n0\n-\nmail\n{}\n1800000000000',
        waits: '1800000000001 | 7000',
      },
    ]);
  });

  it('clear-dead: checks permissions and types before the first write', async () => {
    const names = [...WRITES.map((name) => `${name} dead`), ...WRITES];
    expect(await states.withDenied(names, putDead, clear)).toEqual(each(names, 'error NOTALLOWED'));
    const keys = ['due', 'tasks', 'runs', 'dead', 'waits', 'operation'];
    const setUp = () => putTasks(states);
    expect(await states.withOtherTypes(keys, setUp, clear)).toEqual(each(keys, 'error WRONGTYPE'));
    expect(await states.withOtherTypes(keys, () => undefined, clear)).toEqual(each(keys, 'error WRONGTYPE'));
  });
});
