import { Logger } from '@nestjs/common';
import { deadLetter } from 'luanest/delayed-task';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { Gate, inventory, listen, openBench, redisNow, type Bench } from './support';

const HOUR = 3_600_000;
const YEAR = 365 * 24 * HOUR;

describe('after one key is lost', () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench(standaloneClient(), { drainMs: 0, abortGraceMs: 0 });
  });
  afterEach(() => bench.close());

  const restored = async (id: string, state: string): Promise<number> =>
    eventually(async () => {
      await bench.sweep();
      const view = await bench.tasks.get(id);
      expect(view?.state).toBe(state);
      expect((await inventory(bench)).problems).toEqual([]);
      return view?.atMs ?? 0;
    });

  it('without `due`, tasks are due again when they were: as scheduled, rescheduled, retried or replayed', async () => {
    const ran: string[] = [];
    bench.tasks.handle('t', (_payload, { id }) => void ran.push(id));
    bench.tasks.handle('fails', () => {
      throw new Error('torn');
    });
    bench.tasks.handle('dies', () => deadLetter('hopeless'));
    const now = await redisNow(bench.raw);
    await bench.tasks.schedule('t', null, { id: 'delay', delayMs: YEAR });
    await bench.tasks.schedule('t', null, { id: 'instant', runAtMs: now + 2 * YEAR });
    await bench.tasks.schedule('t', null, { id: 'moved', delayMs: HOUR });
    await bench.tasks.reschedule('moved', { delayMs: 3 * YEAR });
    await bench.tasks.schedule('fails', null, { id: 'retried', backoff: { delayMs: 2 * YEAR } });
    await bench.tasks.schedule('dies', null, { id: 'replayed' });
    await bench.tasks.schedule('t', 'old', { id: 'replaced', delayMs: HOUR });
    await bench.tasks.schedule('t', 'new', { id: 'replaced', delayMs: YEAR, onConflict: 'replace' });
    bench.work();
    await eventually(async () => expect((await bench.tasks.get('replayed'))?.state).toBe('dead'));
    await bench.tasks.replay(['replayed'], { delayMs: YEAR });
    await eventually(async () =>
      expect(await bench.tasks.get('retried')).toMatchObject({ state: 'waiting', attemptsMade: 1 }),
    );
    const ids = ['delay', 'instant', 'moved', 'retried', 'replayed', 'replaced'];
    const dueAt = async (): Promise<(string | null)[]> =>
      Promise.all(ids.map((id) => bench.raw.zscore(bench.partitionOf(id).due, id)));
    const before = await dueAt();
    expect(before.every((ms) => Number(ms) > now + YEAR - HOUR)).toBe(true);
    await bench.raw.del(bench.partitionOf('delay').due);
    await bench.sweep();
    expect(await dueAt()).toEqual(before);
    expect(ran).toEqual([]);
  });

  it('without the number of partitions, it is there again; a worker renews its TTL', async () => {
    const [layout = ''] = await bench.raw.keys(`${bench.prefix}*:layout`);
    await bench.raw.pexpire(layout, HOUR);
    bench.tasks.handle('t', () => undefined);
    bench.work();
    await bench.sweep();
    expect(await bench.raw.pttl(layout)).toBeGreaterThan(89 * 24 * HOUR);
    await bench.raw.del(layout);
    await bench.sweep();
    expect(await bench.raw.get(layout)).toBe(String(bench.partitions.length));
  });

  it('without `dead`, dead letters are dead letters again and do not run', async () => {
    let runs = 0;
    bench.tasks.handle('dies', () => {
      runs += 1;
      return deadLetter('hopeless');
    });
    bench.work();
    await bench.tasks.schedule('dies', null, { id: 'a', attempts: 9 });
    await eventually(async () => expect((await bench.tasks.stats()).dead).toBe(1));
    await bench.raw.del(bench.partitionOf('a').dead);
    await restored('a', 'dead');
    expect(await bench.tasks.get('a')).toMatchObject({ attemptsMade: 1, error: 'hopeless' });
    expect(runs).toBe(1);
  });

  it('without `leased`, a running task goes on, and runs once', async () => {
    const gate = new Gate();
    bench.tasks.handle('t', () => gate.pass());
    bench.work();
    await bench.tasks.schedule('t', null, { id: 'a' });
    await eventually(() => expect(gate.entered).toBe(1));
    await bench.raw.del(bench.partitionOf('a').leased);
    await restored('a', 'running');
    gate.open();
    await eventually(async () => expect(await bench.tasks.get('a')).toBeUndefined());
    expect(gate.entered).toBe(1);
  });

  it.each(['keep', 'replace', 'after'] as const)(
    "without `tasks`, the attempt of a lost task does not end a new task with the same id, with '%s'",
    async (onConflict) => {
      const gate = new Gate();
      const signals: AbortSignal[] = [];
      const ran: unknown[] = [];
      bench.tasks.handle('old', (_payload, { signal }) => {
        signals.push(signal);
        return gate.pass();
      });
      bench.tasks.handle('new', (payload, { attempt }) => void ran.push([payload, attempt]));
      bench.work();
      await bench.tasks.schedule('old', null, { id: 'a' });
      await eventually(() => expect(gate.entered).toBe(1));
      await bench.raw.del(bench.partitionOf('a').tasks);
      const first = await bench.tasks.schedule('new', 1, { id: 'a', delayMs: HOUR, onConflict });
      expect(first.status).toBe('scheduled');
      await eventually(() => expect(signals[0]?.aborted).toBe(true));
      gate.open();
      await eventually(async () => expect((await inventory(bench)).problems).toEqual([]));
      expect(await bench.tasks.get('a')).toMatchObject({ state: 'waiting', attemptsMade: 0 });
      await bench.tasks.reschedule('a', { delayMs: 0 });
      await eventually(() => expect(ran).toEqual([[1, 1]]));
      await eventually(async () => expect(await bench.tasks.get('a')).toBeUndefined());
    },
  );

  it('without `tasks`, many new tasks with the ids of lost ones begin with their first attempt', async () => {
    const gate = new Gate();
    const ran: unknown[] = [];
    bench.tasks.handle('fails', () => {
      throw new Error('torn');
    });
    bench.tasks.handle('runs', () => gate.pass());
    bench.tasks.handle('new', (payload, { id, attempt }) => void ran.push([id, payload, attempt]));
    bench.work();
    await bench.tasks.schedule('fails', null, { id: 'a', backoff: { delayMs: HOUR } });
    await bench.tasks.schedule('runs', null, { id: 'b' });
    await eventually(async () => expect((await bench.tasks.get('a'))?.attemptsMade).toBe(1));
    await eventually(() => expect(gate.entered).toBe(1));
    await bench.raw.del(...bench.partitions.map(({ tasks }) => tasks));
    const many = async (...ids: string[]): Promise<string[]> => {
      const tasks = ids.map((id, n) => ({ name: 'new', payload: n, id, delayMs: 1 }));
      return (await bench.tasks.scheduleMany(tasks, { onConflict: 'after' })).map(({ status }) => status);
    };
    expect(await many('a', 'c')).toEqual(['scheduled', 'scheduled']);
    // The second one replaces the first one, which does not run yet.
    expect(await many('b', 'b')).toEqual(['scheduled', 'replaced']);
    gate.open();
    await eventually(() => expect(ran).toHaveLength(3));
    expect(ran.map(String).sort()).toEqual(['a,0,1', 'b,1,1', 'c,1,1']);
    await eventually(async () => expect((await inventory(bench)).problems).toEqual([]));
  });
});

it('a task whose worker died in its last attempt is named by an event and a log line', async () => {
  const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  const buried = listen('tasksBuried');
  const bench = await openBench(standaloneClient());
  bench.tasks.handle('t', () => undefined);
  await bench.tasks.schedule('t', null, { id: 'a', delayMs: HOUR, attempts: 3 });
  const { due, leased, runs } = bench.partitionOf('a');
  await bench.raw.zrem(due, 'a');
  await bench.raw.hset(runs, 'a', '3 l x 1 0 0 ');
  await bench.raw.zadd(leased, '1', 'a');
  bench.work();
  await eventually(() =>
    expect(buried.events).toEqual([{ namespace: 'default', count: 1, tasks: [{ id: 'a', name: 't', attempt: 3 }] }]),
  );
  expect(errors.mock.calls.map(([line]) => String(line))).toEqual([
    'Queue default: task "t" (id "a") is a dead letter after attempt 3 of 3: its lease ended, for example because the worker died, was blocked or could not reach Redis. It runs again only if you replay the dead letter.',
  ]);
  errors.mockRestore();
  buried.stop();
  await bench.close();
});
