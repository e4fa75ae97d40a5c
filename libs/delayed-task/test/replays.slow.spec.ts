import { REPLAYS, type Replays } from '../../../test/support/replays';
import { eventually } from '../../../test/support/wait';
import { countTasks, delayedTaskScripts, explainTask, lookAtPartition } from '../src/delayed-task.scripts';
import {
  acknowledgeTasks,
  broadcastEvents,
  completeTask,
  deferTasks,
  failTask,
  fireSchedule,
  releaseTasks,
  renewTasks,
  storeProgress,
  sweepTasks,
  takeTasks,
} from '../src/worker/worker.scripts';
import type { Partition } from '../src/queue/task-codec';
import { inventory, openBench, takeCall, type Bench } from './support';

const HOUR = 3_600_000;

/** Every script, run twice with the same arguments. */
describe.each(REPLAYS)('%s', (_how, start) => {
  let replays: Replays<Bench>;
  let direct: Bench;
  let lossy: Bench;
  let keys: Partition;

  beforeAll(async () => {
    replays = await start((client) => openBench(client, { work: false }, { prefix: 'replays', deadlineMs: 10_000 }));
    ({ direct, replayed: lossy } = replays);
    keys = lossy.partitions[0] as Partition;
  });
  beforeEach(() => replays.clear());
  afterAll(() => replays.close());

  const cutting = <T>(work: () => Promise<T>, between?: () => Promise<unknown>): Promise<T> =>
    replays.twice(work, between);

  const take = async (bench: Bench, token: string, limit = 10) => {
    return bench.registry.run(takeTasks, takeCall(keys, 'w', { token, limit, leaseMs: 60_000 }));
  };
  const acknowledge = (bench: Bench, pairs: string[]) => {
    const { leased, tasks, runs, waits } = keys;
    return bench.registry.run(acknowledgeTasks, { keys: { leased, tasks, runs, waits }, args: { pairs } });
  };
  const fail = (bench: Bench, id: string, token: string, delayMs = 0, verdict = 'retry') => {
    const { due, leased, tasks, runs, dead, waits } = keys;
    const args = { id, token, delayMs, verdict, error: 'x' };
    return bench.registry.run(failTask, { keys: { due, leased, tasks, runs, dead, waits }, args });
  };
  const taken = async (id: string, token: string): Promise<void> => {
    await direct.tasks.schedule('t', null, { id, attempts: 2 });
    await take(direct, token);
  };

  it('of schedule returns the first result, and the task exists once', async () => {
    let first: number | undefined;
    const answer = await cutting(
      () => lossy.tasks.schedule('t', 1, { id: 'a', delayMs: HOUR }),
      async () => void (first = (await direct.tasks.get('a'))?.atMs),
    );
    expect(answer).toMatchObject({ status: 'scheduled', runAtMs: first });
    expect((await direct.tasks.get('a'))?.atMs).toBe(first);
    const again = (payload: number, onConflict: 'keep' | 'replace') =>
      cutting(() => lossy.tasks.scheduleMany([{ name: 't', payload, id: 'a', delayMs: HOUR }], { onConflict }));
    expect(await again(2, 'replace')).toMatchObject([{ status: 'replaced' }]);
    expect(await again(3, 'keep')).toMatchObject([{ status: 'kept' }]);
    expect((await direct.tasks.get('a'))?.payload).toBe(2);
  });

  it('of schedule does not bring back a task that is done', async () => {
    const answer = await cutting(
      () => lossy.tasks.schedule('t', 1, { id: 'quick' }),
      async () => {
        expect((await take(direct, 'meanwhile')).tasks).toHaveLength(1);
        expect((await acknowledge(direct, ['quick', 'meanwhile'])).done).toBe(1);
      },
    );
    expect(answer.status).toBe('scheduled');
    expect(await inventory(direct)).toEqual({ due: [], leased: [], dead: [], problems: [] });
  });

  it('of schedule for an id that exists: the outcome of the script that follows', async () => {
    await direct.tasks.schedule('t', 1, { id: 'a', delayMs: HOUR });
    const follows = (): Promise<void> => Promise.resolve();
    const kept = await cutting(() => lossy.tasks.schedule('t', 2, { id: 'a', runAtMs: 5 }), follows);
    expect(kept).toMatchObject({ status: 'kept', runAtMs: (await direct.tasks.get('a'))?.atMs });
    expect((await direct.tasks.get('a'))?.payload).toBe(1);
    const instant = await cutting(() => lossy.tasks.schedule('t', 3, { id: 'b', runAtMs: 0 }));
    expect(instant).toEqual({ id: 'b', status: 'scheduled', runAtMs: 0 });
    expect(await direct.tasks.get('b')).toMatchObject({ payload: 3, atMs: 0, state: 'waiting' });
  });

  it('of scheduleMany: each task exists once', async () => {
    await direct.tasks.schedule('t', null, { id: 'm1', delayMs: HOUR });
    const tasks = Array.from({ length: 5 }, (_, i) => ({ name: 't', id: `m${i}`, delayMs: HOUR }));
    const answers = await cutting(() => lossy.tasks.scheduleMany(tasks));
    expect(answers.map(({ status }) => status)).toEqual(['scheduled', 'kept', 'scheduled', 'scheduled', 'scheduled']);
    expect((await inventory(direct)).due).toHaveLength(5);
  });

  it('of cancel, reschedule, replay and drop returns the first result', async () => {
    await direct.tasks.scheduleMany(['a', 'b'].map((id) => ({ name: 't', id, delayMs: HOUR })));
    expect(await cutting(() => lossy.tasks.cancel('a'))).toBe('cancelled');
    const moved = await cutting(() => lossy.tasks.reschedule('b', { delayMs: 2 * HOUR }));
    expect(moved).toMatchObject({ status: 'rescheduled', runAtMs: (await direct.tasks.get('b'))?.atMs });
    await direct.tasks.reschedule('b', { delayMs: 0 });
    await take(direct, 'x');
    expect(await cutting(() => fail(lossy, 'b', 'x', 0, 'dead-letter'))).toBe('dead');
    expect(await cutting(() => lossy.tasks.replay(['b']))).toBe(1);
    await take(direct, 'y');
    await fail(direct, 'b', 'y', 0, 'dead-letter');
    expect(await cutting(() => lossy.tasks.drop(['b']))).toBe(1);
    expect(await inventory(direct)).toEqual({ due: [], leased: [], dead: [], problems: [] });
  });

  it('of take returns the same tasks, and each attempt counts once', async () => {
    const ids = Array.from({ length: 6 }, (_, i) => `k${i}`);
    await direct.tasks.scheduleMany(ids.map((id, i) => ({ name: 't', id, runAtMs: i + 1 })));
    const first = await cutting(() => take(lossy, 'one', 2));
    expect(first.tasks.map(({ id, attempt, runAtMs }) => `${id} ${attempt} ${runAtMs}`)).toEqual(['k0 1 1', 'k1 1 2']);
    const second = await take(lossy, 'two', 10);
    expect(second.tasks.map(({ id, attempt }) => `${id} ${attempt}`)).toEqual(['k2 1', 'k3 1', 'k4 1', 'k5 1']);
    expect((await inventory(direct)).leased.sort()).toEqual(ids);
  });

  it('of acknowledge and complete: the task is done once', async () => {
    await taken('a', 'x');
    await cutting(() => acknowledge(lossy, ['a', 'x']));
    expect(await inventory(direct)).toEqual({ due: [], leased: [], dead: [], problems: [] });
    await taken('b', 'y');
    const { leased, tasks, runs, waits } = keys;
    const ask = {
      keys: { leased, tasks, runs, waits, result: keys.result('b') },
      args: { id: 'b', token: 'y', keepMs: HOUR, result: '{"r":1}' },
    };
    expect(await cutting(() => lossy.registry.run(completeTask, ask))).toBe(true);
    expect(await direct.tasks.get('b')).toMatchObject({ state: 'done', result: { r: 1 } });
  });

  it('of fail: the attempt fails or is postponed once', async () => {
    await taken('a', 'x');
    expect(await cutting(() => fail(lossy, 'a', 'x', HOUR))).toBe('retried');
    expect(await direct.tasks.get('a')).toMatchObject({ state: 'waiting', attemptsMade: 1, error: 'x' });
    await taken('b', 'y');
    expect(await cutting(() => fail(lossy, 'b', 'y', HOUR, 'postpone'))).toBe('retried');
    expect(await direct.tasks.get('b')).toMatchObject({ state: 'waiting', attemptsMade: 0, error: '' });
  });

  it('of renew and release: the task is renewed, and handed back once', async () => {
    await taken('a', 'x');
    const { due, leased, runs, waits } = keys;
    const args = { leaseMs: HOUR, pairs: ['a', 'x'] };
    expect(await cutting(() => lossy.registry.run(renewTasks, { keys: { leased, runs }, args }))).toMatchObject({
      done: 1,
    });
    const release = { keys: { due, leased, runs, waits }, args: { pairs: ['a', 'x'] } };
    expect(await cutting(() => lossy.registry.run(releaseTasks, release))).toMatchObject({ done: 1 });
    expect(await direct.tasks.get('a')).toMatchObject({ state: 'waiting', attemptsMade: 0 });
  });

  it.each(['replay', 'drop'] as const)('of clear-dead: each task is %sed once, and all are counted', async (verb) => {
    const ids = Array.from({ length: 90 }, (_, i) => `d${i}`);
    await direct.tasks.scheduleMany(ids.map((id) => ({ name: 't', id, delayMs: HOUR })));
    const { due, dead, runs } = keys;
    for (const id of ids) await direct.raw.hset(runs, id, '5 d x 1 1 0 Error: torn');
    await direct.raw.zadd(dead, ...ids.flatMap((id) => ['1', id]));
    await direct.raw.zrem(due, ...ids);
    const done = await cutting(() => (verb === 'drop' ? lossy.tasks.dropAll() : lossy.tasks.replayAll()));
    expect(done).toBe(90);
    const found = await inventory(direct);
    expect(found).toMatchObject({ dead: [], leased: [], problems: [] });
    expect(found.due).toHaveLength(verb === 'drop' ? 0 : 90);
  });

  it('of take returns the dead-lettered tasks again', async () => {
    await taken('a', 'x');
    await direct.raw.hset(keys.runs, 'a', '5 l x 1 0 0 ');
    await direct.raw.zadd(keys.leased, '1', 'a');
    const { tasks, buried } = await cutting(() => take(lossy, 'y'));
    expect([tasks, buried]).toEqual([[], [{ id: 'a', name: 't', attempt: 5 }]]);
    expect((await take(lossy, 'z')).buried).toEqual([]);
  });

  it('of defer: the task is handed back once, or dead-lettered once', async () => {
    await taken('a', 'x');
    const { due, leased, runs, dead, waits } = keys;
    const asked = {
      keys: { due, leased, runs, dead, waits },
      args: { share: 1_000, error: 'e', pairs: ['a', 'x', 'b', 'x'] },
    };
    const defer = (longestMs: number) => () =>
      lossy.registry.run(deferTasks, { ...asked, args: { ...asked.args, longestMs } });
    expect(await cutting(defer(HOUR))).toEqual([1, 0]);
    expect(await direct.tasks.get('a')).toMatchObject({ state: 'waiting', attemptsMade: 0 });
    await direct.tasks.reschedule('a', { delayMs: 0 });
    await direct.raw.hset(runs, 'a', '1 l x 1 0 1 ');
    await direct.raw.zrem(due, 'a');
    await direct.raw.zadd(leased, '9000000000000', 'a');
    expect(await cutting(defer(HOUR))).toEqual([2, 0]);
    expect(await direct.tasks.get('a')).toMatchObject({ state: 'dead', attemptsMade: 0, error: 'e' });
    expect((await inventory(direct)).problems).toEqual([]);
  });

  it('of the scripts that read, and of sweep', async () => {
    await taken('a', 'x');
    await fail(direct, 'a', 'x', 0, 'dead-letter');
    expect(await cutting(() => lossy.tasks.get('a'))).toMatchObject({ state: 'dead' });
    const { due: waiting, leased: running, dead: given } = keys;
    const counted = { keys: { due: waiting, leased: running, dead: given }, args: {} };
    expect(await cutting(() => lossy.registry.run(countTasks, counted))).toMatchObject({ dead: 1 });
    expect((await cutting(() => lossy.tasks.deadLetters())).items).toHaveLength(1);
    await cutting(() => lossy.tasks.onModuleInit());
    await direct.raw.zadd(keys.dead, '1', 'a');
    const { due, leased, tasks, runs, dead, waits, lines, heads } = keys;
    const args = { retentionMs: HOUR, leaseMs: HOUR, taskCursor: '0', runCursor: '0', count: 10 };
    await cutting(() =>
      lossy.registry.run(sweepTasks, { keys: { due, leased, tasks, runs, dead, waits, lines, heads }, args }),
    );
    expect(await inventory(direct)).toEqual({ due: [], leased: [], dead: [], problems: [] });
  });

  it('the old holder of a task changes nothing after a take-over', async () => {
    await taken('a', 'zombie');
    await direct.raw.zadd(keys.leased, 'XX', '1', 'a');
    expect((await take(direct, 'heir')).tasks).toMatchObject([{ id: 'a', attempt: 2 }]);
    const dumps = (): Promise<(Buffer | null)[]> =>
      Promise.all([keys.due, keys.leased, keys.tasks, keys.runs, keys.dead].map((key) => direct.raw.dumpBuffer(key)));
    const before = await dumps();
    const { due, leased, tasks, runs, waits } = keys;
    const pairs = ['a', 'zombie'];
    const { registry } = direct;
    const nobody = { done: 0, lost: [0] };
    expect(await acknowledge(direct, pairs)).toEqual(nobody);
    expect(await registry.run(renewTasks, { keys: { leased, runs }, args: { leaseMs: HOUR, pairs } })).toEqual(nobody);
    expect(await registry.run(releaseTasks, { keys: { due, leased, runs, waits }, args: { pairs } })).toEqual(nobody);
    expect(await fail(direct, 'a', 'zombie')).toBe('lost');
    const result = { keys: { leased, tasks, runs, waits, result: keys.result('a') } };
    const args = { id: 'a', token: 'zombie', keepMs: HOUR, result: '1' };
    expect(await registry.run(completeTask, { ...result, args })).toBe(false);
    expect(await dumps()).toEqual(before);
    expect(await acknowledge(direct, ['a', 'heir'])).toMatchObject({ done: 1 });
  });

  it('of pause and resume', async () => {
    await cutting(() => lossy.tasks.pause());
    expect(await direct.tasks.stats()).toMatchObject({ paused: true });
    await cutting(() => lossy.tasks.resume());
    expect(await direct.tasks.stats()).toMatchObject({ paused: false });
  });

  it('of pause and resume of a group', async () => {
    await direct.tasks.schedule('t', null, { id: 'a', group: 'g' });
    await cutting(() => lossy.tasks.pause({ group: 'g' }));
    expect((await take(direct, 'x')).tasks).toEqual([]);
    await cutting(() => lossy.tasks.resume({ group: 'g' }));
    expect((await take(direct, 'y')).tasks).toMatchObject([{ id: 'a' }]);
  });

  it('of take with limits of groups: each start counts once', async () => {
    await direct.tasks.scheduleMany(['a', 'b', 'c'].map((id) => ({ name: 't', id, group: 'g' })));
    const call = takeCall(keys, 'w', { token: 'x', limit: 10, leaseMs: 60_000 });
    const args = { ...call.args, groupMost: 2, groupStarts: 3, groupWindowMs: HOUR, ended: ['g\nold'] };
    const first = await cutting(() => lossy.registry.run(takeTasks, { ...call, args }));
    expect(first.tasks).toMatchObject([{ attempt: 1 }, { attempt: 1 }]);
    expect(await direct.raw.zcard(keys.places)).toBe(2);
    expect(Number(await direct.raw.zscore(keys.rates, 'g'))).toBeLessThan(first.now + (HOUR * 2) / 3 + 1);
    expect((await inventory(direct)).problems).toEqual([]);
  });

  it('of a progress: it is stored', async () => {
    await taken('a', 'x');
    const call = {
      keys: { runs: keys.runs, progress: keys.progress('a') },
      args: { id: 'a', keepMs: HOUR, value: '[7]' },
    };
    const report = (token: string) => lossy.registry.run(storeProgress, { ...call, args: { ...call.args, token } });
    expect(await cutting(() => report('x'))).toBe(true);
    expect(await direct.tasks.get('a')).toMatchObject({ state: 'running', progress: [7] });
    expect(await cutting(() => report('other'))).toBe(false);
  });

  it('of fire: the task of the slot is scheduled once', async () => {
    await lossy.tasks.upsertSchedule('s', { everyMs: HOUR }, { name: 't' });
    const { due, leased, tasks, runs, waits, lines, heads } = keys;
    await direct.raw.zadd(due, 'XX', 1, '\u0001s');
    expect((await take(direct, 'x')).tasks).toMatchObject([{ id: '\u0001s' }]);
    const args = { id: '\u0001s', token: 'x', taskId: 's@1', record: '1\n0\n0 1 0\nt\nnull', slotMs: 1, nextMs: 9 };
    const call = { keys: { due, leased, tasks, runs, waits, lines, heads }, args };
    expect(await cutting(() => lossy.registry.run(fireSchedule, call))).toBe('fired');
    expect((await direct.tasks.list({ state: 'waiting' })).items).toMatchObject([{ id: 's@1', atMs: 1 }]);
    expect(await direct.tasks.getSchedule('s')).toMatchObject({ nextRunAtMs: 9 });
    expect((await inventory(direct)).problems).toEqual([]);
  });

  it('of broadcast: a listener gets the events once', async () => {
    const got: string[] = [];
    await direct.tasks.onEvents((event) => event.type === 'progressReported' && got.push(event.id));
    const send = (bench: Bench, number: number, id: string) => {
      const event = { type: 'progressReported', progress: 1, id, name: 't', attempt: 1, attempts: 1, atMs: 1 };
      const messages = [JSON.stringify({ from: 'x', number, missed: 0, events: [event] })];
      const events = direct.registry.keySpace('delayed-task').tag('default').key('events');
      return bench.registry.run(broadcastEvents, { keys: { events }, args: { messages } });
    };
    await cutting(() => send(lossy, 1, 'first'));
    // After a failover, the listener needs a moment until it gets messages again.
    let number = 1;
    await eventually(async () => {
      await send(direct, (number += 1), 'last');
      expect(got).toContain('last');
    });
    expect(got.filter((id) => id === 'first')).toEqual(['first']);
  });

  it('of the scripts that read for the console: what is there', async () => {
    await direct.tasks.schedule('t', null, { id: 'a', delayMs: HOUR });
    const { due, leased, dead, waits, starts, pauses, heads, tasks, lines, places, rates, runs } = keys;
    const look = () =>
      lossy.registry.run(lookAtPartition, {
        keys: { due, leased, dead, waits, starts, pauses },
        args: { most: 0, windowMs: 0 },
      });
    expect(await cutting(look)).toMatchObject({ waiting: 1, overdue: 0, running: 0, dead: 0 });
    const explain = () =>
      lossy.registry.run(explainTask, {
        keys: { due, heads, tasks, lines, pauses, places, rates, runs },
        args: { id: 'a' },
      });
    expect(await cutting(explain)).toMatchObject({ ahead: 0 });
  });

  it('is tested for every script', () => {
    expect([...replays.seen].sort()).toEqual(delayedTaskScripts.map(({ name }) => name).sort());
  });
});
