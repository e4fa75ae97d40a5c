import { deadLetter, retryLater } from 'luanest/delayed-task';
import { eventually, sleep } from '../../../test/support/wait';
import {
  acknowledgeTasks,
  completeTask,
  deferTasks,
  failTask,
  releaseTasks,
  renewTasks,
  takeTasks,
} from '../src/worker/worker.scripts';
import { Gate } from '../../../test/support/gate';
import { inventory, openBench, servers, takeCall, type Bench } from './support';
import { few } from '../../../test/support/few';

const HOUR = 3_600_000;
const EMPTY = { due: [], leased: [], dead: [], problems: [] };

describe.each(few(servers))("onConflict 'after' on %s", (_, client, partitions) => {
  const benches: Bench[] = [];
  async function open(options = {}, prefix?: string): Promise<Bench> {
    const all = { partitions, leaseMs: 60_000, ...options };
    const bench = await openBench(client(), all, prefix === undefined ? {} : { prefix });
    benches.push(bench);
    return bench;
  }
  afterEach(async () => {
    for (const bench of benches.splice(0)) await bench.close();
  });
  const after = (bench: Bench, payload: unknown, options = {}) =>
    bench.tasks.schedule('t', payload, { id: 'a', onConflict: 'after', ...options });

  it.each([{}, { group: 'g' }])('runs the last one when the one that runs has ended, never both (%j)', async (more) => {
    const one = await open();
    const other = await open({}, one.prefix);
    const gate = new Gate();
    const ran: unknown[] = [];
    let running = 0;
    for (const bench of [one, other]) {
      bench.tasks.handle('t', async (payload, { attempt }) => {
        expect(++running).toBe(1);
        await gate.pass();
        ran.push([payload, attempt]);
        running--;
      });
      bench.work();
    }
    expect(await after(one, 1, more)).toMatchObject({ id: 'a', status: 'scheduled' });
    await eventually(() => expect(gate.entered).toBe(1));
    for (const n of [2, 3, 4])
      expect(await after(n % 2 === 0 ? one : other, n, more)).toMatchObject({ status: 'follows' });
    expect(await one.tasks.get('a')).toMatchObject({ state: 'running', payload: 4 });
    // Of another rule, the tasks that exist stay.
    expect(await one.tasks.schedule('t', 5, { id: 'a', ...more })).toMatchObject({ status: 'kept' });
    await sleep(50);
    expect(gate.entered).toBe(1);
    gate.open();
    await eventually(() => expect(gate.entered).toBe(2));
    gate.open();
    await eventually(async () => expect(await inventory(one)).toEqual(EMPTY));
    expect(ran).toEqual([
      [1, 1],
      [4, 1],
    ]);
  });

  it('replaces one that waits, or is a dead letter, and waits for its own time after one that runs', async () => {
    const bench = await open({ attempts: 1 });
    const gate = new Gate();
    const ran: unknown[] = [];
    bench.tasks.handle('t', async (payload) => {
      ran.push(payload);
      if (payload === 'fails') throw new Error('no');
      if (payload === 'slow') await gate.pass();
    });
    await after(bench, 0, { delayMs: HOUR });
    expect(await after(bench, 'fails')).toMatchObject({ status: 'replaced' });
    bench.work();
    await eventually(async () => expect(await bench.tasks.stats()).toMatchObject({ dead: 1 }));
    expect(await after(bench, 'slow')).toMatchObject({ status: 'replaced' });
    await eventually(() => expect(gate.entered).toBe(1));
    const { runAtMs } = await after(bench, 'later', { delayMs: HOUR });
    gate.open();
    await eventually(async () => expect(await bench.tasks.get('a')).toMatchObject({ state: 'waiting', atMs: runAtMs }));
    expect(ran).toEqual(['fails', 'slow']);
    await bench.tasks.reschedule('a', {});
    await eventually(() => expect(ran).toEqual(['fails', 'slow', 'later']));
    await eventually(async () => expect(await inventory(bench)).toEqual(EMPTY));
  });

  it.each<[string, () => unknown]>([
    ['fails', () => Promise.reject(new Error('no'))],
    ['is postponed', () => retryLater({ delayMs: HOUR })],
    ['is given up', () => deadLetter('enough')],
    ['returns a result', () => ({ r: 1 })],
  ])('follows one that %s, with attempts of its own', async (how, ends) => {
    const bench = await open({ attempts: 3, backoff: HOUR });
    const gate = new Gate();
    const ran: unknown[] = [];
    bench.tasks.handle('t', async (payload, { attempt, attempts }) => {
      ran.push([payload, attempt, attempts]);
      if (payload !== 1) return;
      await gate.pass();
      return ends();
    });
    bench.work();
    await after(bench, 1, { keepResultMs: how === 'returns a result' ? HOUR : 0 });
    await eventually(() => expect(gate.entered).toBe(1));
    await after(bench, 2, { attempts: 2 });
    gate.open();
    await eventually(() => expect(ran).toHaveLength(2));
    expect(ran).toEqual([
      [1, 1, 3],
      [2, 1, 2],
    ]);
    await eventually(async () => expect(await inventory(bench)).toEqual(EMPTY));
  });

  it('follows one that a process hands back, and one whose process died', async () => {
    const bench = await open({ work: false });
    const keys = bench.partitionOf('a');
    const take = (worker: string, leaseMs = HOUR) =>
      bench.registry.run(takeTasks, takeCall(keys, worker, { token: worker, limit: 10, leaseMs }));
    await after(bench, 'handed back');
    await take('w1');
    await after(bench, 'of a dead process');
    await bench.registry.run(releaseTasks, { keys, args: { pairs: ['a', 'w1'] } });
    // The first take finds that the attempt has ended, the second one takes the task.
    expect((await take('w2')).tasks).toEqual([]);
    const payloadOf = async () => (await bench.tasks.get('a'))?.payload;
    expect((await take('w2b', 50)).tasks).toMatchObject([{ id: 'a', attempt: 1 }]);
    expect(await payloadOf()).toBe('of a dead process');
    await after(bench, 'last');
    await sleep(60);
    expect((await take('w3')).tasks).toEqual([]);
    expect((await take('w3b')).tasks).toMatchObject([{ id: 'a', attempt: 1 }]);
    expect(await payloadOf()).toBe('last');
    // Its process is not dead after all. Nothing that it says counts.
    const late = { keys: { ...keys, result: keys.result('a') }, args: { pairs: ['a', 'w2b'] } };
    expect(await bench.registry.run(acknowledgeTasks, late)).toEqual({ done: 0, lost: [0] });
    expect(await inventory(bench)).toMatchObject({ leased: ['a'], due: [], problems: [] });
  });

  it('is looked for again at once if a call had no place for all that follow', async () => {
    const bench = await open({ work: false, partitions: 1 });
    const { tasks, registry } = bench;
    const keys = bench.partitionOf('a');
    const take = (worker: string, limit = 1) =>
      registry.run(takeTasks, takeCall(keys, worker, { token: worker, limit, leaseMs: HOUR }));
    const scheduleBoth = () =>
      tasks.scheduleMany(
        ['a', 'b'].map((id) => ({ name: 't', id })),
        { onConflict: 'after' },
      );
    await scheduleBoth();
    expect((await take('w1', 2)).tasks).toHaveLength(2);
    await scheduleBoth();
    const pairs = ['a', 'w1', 'b', 'w1'];
    await registry.run(acknowledgeTasks, { keys, args: { pairs } });
    // The first call finds that one attempt has ended. 0 would mean that there is nothing to wait for.
    const { tasks: none, now, nextAt } = await take('w2');
    expect([none, nextAt > 0, nextAt <= now]).toEqual([[], true, true]);
    const taken = [await take('w3', 2), await take('w4', 2)].flatMap(({ tasks: some }) => some);
    expect(taken.map(({ id }) => id).sort()).toEqual(['a', 'b']);
  });

  it.each(['acknowledge', 'complete', 'fail', 'release', 'defer'] as const)(
    'is settled once by %s that is sent twice, and a renewal does not bring it back',
    async (how) => {
      const bench = await open({ work: false });
      const { registry } = bench;
      const keys = bench.partitionOf('a');
      const args = { pairs: ['a', 'w'] };
      const ends: Record<typeof how, () => Promise<unknown>> = {
        acknowledge: () => registry.run(acknowledgeTasks, { keys, args }),
        complete: () =>
          registry.run(completeTask, {
            keys: { ...keys, result: keys.result('a') },
            args: { id: 'a', token: 'w', keepMs: HOUR, result: '1' },
          }),
        fail: () =>
          registry.run(failTask, {
            keys,
            args: { id: 'a', token: 'w', delayMs: HOUR, verdict: 'dead-letter', error: 'e' },
          }),
        release: () => registry.run(releaseTasks, { keys, args }),
        defer: () => registry.run(deferTasks, { keys, args: { longestMs: 1, share: 1, error: 'e', ...args } }),
      };
      const end = ends[how];
      const renew = () => registry.run(renewTasks, { keys, args: { leaseMs: HOUR, ...args } });
      const take = (token: string) =>
        registry.run(takeTasks, takeCall(keys, token, { token, limit: 10, leaseMs: HOUR }));
      await after(bench, 1);
      await take('w');
      await after(bench, 2);
      expect(await renew()).toEqual({ done: 1, lost: [] });
      const first = await end();
      expect(await end()).toEqual(first);
      // A worker without a handler leaves the task until the lease ends.
      if (how === 'defer') await bench.raw.zadd(keys.leased, 0, 'a');
      else expect(await renew()).toEqual({ done: 0, lost: [0] });
      await bench.sweep();
      expect((await take('x')).tasks).toEqual([]);
      expect(await inventory(bench)).toEqual({ ...EMPTY, due: ['a'] });
      expect((await take('y')).tasks).toMatchObject([{ id: 'a', attempt: 1 }]);
      await end();
      expect(await inventory(bench)).toEqual({ ...EMPTY, leased: ['a'] });
      await registry.run(acknowledgeTasks, { keys, args: { pairs: ['a', 'y'] } });
      expect(await inventory(bench)).toEqual(EMPTY);
    },
  );

  it('returns the first result to a call that is sent twice, and follows once in a call of many', async () => {
    const bench = await open({ work: false });
    const keys = bench.partitionOf('a');
    const take = (token: string) =>
      bench.registry.run(takeTasks, takeCall(keys, token, { token, limit: 10, leaseMs: HOUR }));
    await after(bench, 1);
    await take('w');
    const twice = { operationId: 'o' };
    const first = await after(bench, 2, twice);
    expect(first.status).toBe('follows');
    expect(await after(bench, 3, twice)).toEqual(first);
    const many = await bench.tasks.scheduleMany(
      [4, 5].map((payload) => ({ name: 't', id: 'a', payload })),
      { onConflict: 'after' },
    );
    expect(many.map(({ status }) => status)).toEqual(['follows', 'follows']);
    await bench.registry.run(acknowledgeTasks, { keys, args: { pairs: ['a', 'w'] } });
    await take('x');
    expect(await bench.tasks.get('a')).toMatchObject({ state: 'waiting', payload: 5 });
    expect(await inventory(bench)).toEqual({ ...EMPTY, due: ['a'] });
  });

  it('waits while the queue is paused, and does not count as running', async () => {
    const bench = await open();
    const { tasks } = bench;
    const gate = new Gate();
    tasks.handle('t', () => gate.pass());
    bench.work();
    await after(bench, 1);
    await eventually(() => expect(gate.entered).toBe(1));
    await tasks.pause();
    const { runAtMs } = await after(bench, 2);
    expect(await tasks.stats()).toMatchObject({ waiting: 0, running: 1 });
    gate.open();
    await eventually(async () => expect(await tasks.stats()).toMatchObject({ waiting: 1, running: 0 }));
    expect(await tasks.get('a')).toMatchObject({ state: 'waiting', payload: 2, atMs: runAtMs, attemptsMade: 0 });
    expect((await tasks.list({ state: 'running' })).items).toEqual([]);
    expect(await tasks.cancelAll({ name: 'other' })).toBe(0);
    expect(await tasks.cancelAll({ name: 't' })).toBe(1);
    expect(await inventory(bench)).toEqual(EMPTY);
    await tasks.resume();
    await after(bench, 3);
    await eventually(() => expect(gate.entered).toBe(2));
  });

  it('of a task that runs is removed with it', async () => {
    const bench = await open({ work: false });
    const keys = bench.partitionOf('a');
    await after(bench, 1);
    await bench.registry.run(takeTasks, takeCall(keys, 'w', { token: 'w', limit: 10, leaseMs: HOUR }));
    await after(bench, 2);
    expect(await bench.tasks.cancel('a')).toBe('running');
    expect(await bench.tasks.cancel('a', { evenRunning: true })).toBe('cancelled');
    expect(await inventory(bench)).toEqual(EMPTY);
  });
});
