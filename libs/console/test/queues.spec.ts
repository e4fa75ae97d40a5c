import { Logger } from '@nestjs/common';
import { eventually } from '../../../test/support/wait';
import { openBench, redisNow, servers, type Bench } from '../../delayed-task/test/support';
import type { Section } from '../src/console.types';
import { queuesSection } from '../src/sections/queues';
import { act, allRows, countOfFix, factsOf, figuresOf, rowsOf, sectionOf } from './section-support';

Logger.overrideLogger(false);

const HOUR_MS = 3_600_000;
const fails = (): never => {
  throw new Error('no such card');
};
/** Handlers that end when the test says so, so that tasks run meanwhile. */
const never = (): Promise<void> => new Promise(() => undefined);

describe.each(servers)('the section of queues on %s', (_, connect, partitions) => {
  let bench: Bench;
  let section: Section;
  const task = (id: string, queue = 'emails') => factsOf(section, ['queues', 'tasks', queue, id]);
  const queue = () => factsOf(section, ['queues', 'queues', 'emails']);
  const ids = async (list: string, filter?: string, limit?: number) =>
    (await allRows(section, ['queues', list], limit, filter)).map(({ id }) => id).sort();

  beforeEach(async () => {
    bench = await openBench(connect(), {
      ...{ namespace: 'emails', partitions, attempts: 1, drainMs: 1, abortGraceMs: 1, concurrency: 64 },
      queues: { slow: { partitions: 1 }, limited: { partitions: 1, startLimit: { limit: 1, windowMs: HOUR_MS } } },
    });
    section = sectionOf(queuesSection, { DelayedTaskService: bench.tasks });
  });
  afterEach(() => bench.close());

  it('lists tasks of all queues, page by page, and those that a filter selects', async () => {
    const named = Array.from({ length: 7 }, (_, i) => ({
      name: i < 3 ? 'send mail' : 'other',
      id: `t${i}`,
      delayMs: HOUR_MS,
    }));
    await bench.tasks.scheduleMany(named);
    await bench.tasks.queue('slow').schedule('slow', { card: 4711 }, { id: 's0', delayMs: HOUR_MS, group: 'acme' });
    expect(await ids('tasks', undefined, 2)).toEqual(['s0', ...named.map(({ id }) => id)]);
    expect(await ids('tasks', 'name:send mail')).toEqual(['t0', 't1', 't2']);
    expect(await ids('tasks', 'waiting queue:slow group:acme')).toEqual(['s0']);
    expect(await ids('tasks', 'dead')).toEqual([]);
    const [row] = rowsOf(await section.list(['queues', 'tasks', 'slow'], { limit: 5 }));
    expect(row).toMatchObject({ queue: 'slow', state: 'waiting', name: 'slow', group: 'acme', attemptsMade: 0 });
    expect(row?.payload).toEqual({ payload: { card: 4711 } });
    await expect(section.list(['queues', 'tasks'], { limit: 5, filter: 'late' })).rejects.toThrow('filter is "late"');
    await expect(section.list(['queues', 'others'], { limit: 5 })).rejects.toThrow('nothing at "queues/others"');
    expect(await figuresOf(section)).toMatchObject({ queues: 3, waiting: 8, overdue: 0, running: 0, dead: 0 });
  });

  it('says that a task is not due, and moves it, runs it now or cancels it', async () => {
    const { runAtMs } = await bench.tasks.schedule('mail', 1, { id: 'a', delayMs: HOUR_MS });
    expect(await task('a')).toMatchObject({
      ...{ state: 'waiting', dueAtMs: runAtMs, queue: 'emails', attempts: 1, codes: ['task-not-due'] },
      actions: ['run-now', 'move', 'cancel'],
    });
    const movedMs = runAtMs + HOUR_MS;
    expect(await act(section, 'move', ['queues', 'tasks', 'emails', 'a'], { atMs: movedMs })).toEqual({ count: 1 });
    expect(await task('a')).toMatchObject({ dueAtMs: movedMs });
    await expect(act(section, 'move', ['queues', 'tasks', 'emails', 'a'])).rejects.toThrow('atMs is undefined');
    expect(await act(section, 'run-now', ['queues', 'tasks', 'emails', 'a'])).toEqual({ count: 1 });
    expect((await bench.tasks.get('a'))?.atMs).toBeLessThanOrEqual(await redisNow(bench.raw));
    expect(await act(section, 'cancel', ['queues', 'tasks', 'emails', 'a'])).toEqual({ count: 1 });
    expect(await bench.tasks.get('a')).toBeUndefined();
    expect(await section.show(['queues', 'tasks', 'emails', 'a'])).toBeUndefined();
    expect(
      (await section.preview('cancel', { address: ['queues', 'tasks', 'emails', 'a'] }, {})).sentence,
    ).toMatchObject({
      code: 'queue-item-gone',
    });
  });

  it('says that no process works, or that the queue is paused, and resumes it', async () => {
    await bench.tasks.schedule('mail', 1, { id: 'a' });
    expect(await task('a')).toMatchObject({ codes: ['task-no-worker'] });
    expect(await queue()).toMatchObject({ workers: 0, overdue: 1, codes: ['no-worker'] });
    expect(await act(section, 'pause', ['queues', 'queues', 'emails'])).toEqual({ count: 1 });
    expect(await task('a')).toMatchObject({ codes: ['task-queue-paused'] });
    expect(await queue()).toMatchObject({ paused: true, codes: ['queue-paused'], actions: ['resume'] });
    bench.tasks.handle('mail', () => undefined);
    bench.work();
    expect(await act(section, 'resume', ['queues', 'queues', 'emails'])).toEqual({ count: 1 });
    await eventually(async () => expect(await bench.tasks.get('a')).toBeUndefined());
    await eventually(async () =>
      expect(await queue()).toMatchObject({ workers: 1, overdue: 0, codes: ['queue-well'] }),
    );
  });

  it('names the worker of a task that runs, and refuses to change it', async () => {
    bench.tasks.handle('mail', never);
    bench.work();
    await bench.tasks.schedule('mail', 1, { id: 'a' });
    await eventually(async () => expect(await task('a')).toMatchObject({ codes: ['task-running'] }));
    const [lease] = await allRows(section, ['queues', 'leases']);
    expect(lease).toMatchObject({ id: 'a', name: 'mail', attempt: 1, attempts: 1 });
    expect(lease?.worker).toMatch(/^[\w-]{16}$/);
    expect(await task('a')).toMatchObject({ worker: lease?.worker, actions: [] });
    expect(await act(section, 'cancel', ['queues', 'tasks', 'emails', 'a'])).toMatchObject({
      count: 0,
      refused: { code: 'task-runs' },
    });
  });

  it('retries and drops dead letters, one or all of a filter', async () => {
    bench.tasks.handle('mail', fails);
    bench.tasks.handle('sms', fails);
    await bench.tasks.scheduleMany(['a', 'b', 'c'].map((id) => ({ name: 'mail', id })));
    await bench.tasks.scheduleMany(['d', 'e'].map((id) => ({ name: 'sms', id })));
    bench.work();
    await eventually(async () => expect(await ids('dead')).toEqual(['a', 'b', 'c', 'd', 'e']));
    expect(await task('a')).toMatchObject({ state: 'dead', error: 'Error: no such card', codes: ['task-dead'] });
    expect(await queue()).toMatchObject({ dead: 5, codes: ['queue-has-dead'] });
    expect(await countOfFix(section, (await section.show(['queues', 'queues', 'emails']))?.sentences)).toBe(5);
    await bench.tasks.pause();
    expect(await act(section, 'retry', ['queues', 'tasks', 'emails', 'a'])).toEqual({ count: 1 });
    expect(await bench.tasks.get('a')).toMatchObject({ state: 'waiting', attemptsMade: 0 });
    expect(await act(section, 'drop', ['queues', 'tasks', 'emails', 'b'])).toEqual({ count: 1 });
    const sms = { list: ['queues', 'dead'], filter: 'name:sms' };
    expect(await section.preview('drop', sms, {})).toEqual({ count: 2, more: false, samples: expect.any(Array) as [] });
    expect(await section.run('drop', sms, {}, undefined)).toEqual({ count: 2 });
    expect(await section.run('retry', { list: ['queues', 'tasks'], filter: 'dead' }, {}, undefined)).toEqual({
      count: 1,
    });
    expect(await ids('dead')).toEqual([]);
    expect(await ids('tasks')).toEqual(['a', 'c']);
    expect(await section.run('cancel', { list: ['queues', 'tasks'], filter: 'name:sms' }, {}, undefined)).toEqual({
      count: 0,
    });
    expect(await section.preview('cancel', { list: ['queues', 'tasks'] }, {})).toMatchObject({ count: 2 });
    expect(await section.run('cancel', { list: ['queues', 'tasks'] }, {}, undefined)).toEqual({ count: 2 });
    await expect(section.run('cancel', sms, {}, undefined)).rejects.toThrow('cannot be used on the list queues/dead');
  });

  it('refuses an action if the task is another one by then', async () => {
    await bench.tasks.schedule('mail', 1, { id: 'a', delayMs: HOUR_MS });
    const target = { address: ['queues', 'tasks', 'emails', 'a'] };
    const { expected } = await section.preview('cancel', target, {});
    await bench.tasks.reschedule('a', { delayMs: 2 * HOUR_MS });
    expect(await section.run('cancel', target, {}, expected)).toMatchObject({
      refused: { code: 'queue-item-changed' },
    });
    expect(await bench.tasks.get('a')).toMatchObject({ state: 'waiting' });
    expect(await section.run('retry', target, {}, undefined)).toMatchObject({
      refused: { code: 'task-state-differs' },
    });
    await expect(section.run('burn', target, {}, undefined)).rejects.toThrow('no action "burn"');
  });

  it('says that a group is paused, and resumes it', async () => {
    bench.tasks.handle('mail', () => undefined);
    bench.work();
    await bench.tasks.pause({ group: 'acme' });
    await bench.tasks.schedule('mail', 1, { id: 'a', group: 'acme' });
    await eventually(async () => expect(await task('a')).toMatchObject({ codes: ['task-group-paused'] }));
    expect(await allRows(section, ['queues', 'groups'])).toEqual([{ group: 'acme', queue: 'emails', paused: true }]);
    expect(await queue()).toMatchObject({ codes: ['groups-paused'] });
    const address = ['queues', 'groups', 'emails', 'acme'];
    expect(await factsOf(section, address)).toMatchObject({
      paused: true,
      codes: ['group-paused'],
      actions: ['resume'],
    });
    expect(await act(section, 'resume', address)).toEqual({ count: 1 });
    await eventually(async () => expect(await bench.tasks.get('a')).toBeUndefined());
    expect(await factsOf(section, address)).toMatchObject({ paused: false, codes: ['group-not-paused'] });
  });

  it('says that a queue is at its start limit, and how many tasks come before', async () => {
    const limited = bench.tasks.queue('limited');
    limited.handle('mail', never);
    bench.work();
    await limited.schedule('mail', 1, { id: 'first' });
    await eventually(async () => expect(await task('first', 'limited')).toMatchObject({ codes: ['task-running'] }));
    await limited.schedule('mail', 2, { id: 'second' });
    await limited.schedule('mail', 3, { id: 'third', delayMs: 1 });
    await eventually(async () =>
      expect(await task('third', 'limited')).toMatchObject({ codes: ['task-start-limit'], ahead: 1 }),
    );
    expect(await factsOf(section, ['queues', 'queues', 'limited'])).toMatchObject({ codes: ['start-limit'] });
  });

  it('lists schedules, finds them with their tasks, runs one now and removes it', async () => {
    await bench.tasks.upsertSchedule(
      'daily',
      { cron: '0 3 * * *', timeZone: 'Asia/Shanghai' },
      { name: 'mail', payload: 7 },
    );
    await bench.tasks.schedule('mail', 1, { id: 'daily', delayMs: HOUR_MS });
    const [row] = await allRows(section, ['queues', 'schedules']);
    expect(row).toMatchObject({ id: 'daily', queue: 'emails', rule: '0 3 * * * Asia/Shanghai', name: 'mail' });
    expect(await section.find('daily')).toMatchObject([
      { address: ['queues', 'tasks', 'emails', 'daily'], kind: 'task', sentence: { code: 'task-not-due' } },
      { address: ['queues', 'schedules', 'emails', 'daily'], kind: 'schedule' },
    ]);
    expect(await section.find('no\nid')).toEqual([]);
    const address = ['queues', 'schedules', 'emails', 'daily'];
    expect(await factsOf(section, address)).toMatchObject({ codes: ['schedule-next'], actions: ['run-now', 'remove'] });
    const seen: unknown[] = [];
    bench.tasks.handle('mail', (payload) => void seen.push(payload));
    bench.work();
    expect(await act(section, 'run-now', address)).toEqual({ count: 1 });
    await eventually(() => expect(seen).toEqual([7]));
    expect(await act(section, 'remove', address)).toEqual({ count: 1 });
    expect(await section.show(address)).toBeUndefined();
    expect(await act(section, 'remove', address)).toMatchObject({ refused: { code: 'queue-item-gone' } });
  });

  it('shows each partition of a queue, and only the queues that there are', async () => {
    await bench.tasks.scheduleMany(
      Array.from({ length: 20 }, (_, i) => ({ name: 'mail', id: `${i}`, delayMs: HOUR_MS })),
    );
    const rows = rowsOf(await section.list(['queues', 'queues', 'emails', 'partitions'], { limit: 9 }));
    expect(rows).toHaveLength(partitions);
    expect(rows.reduce((sum, { waiting }) => sum + Number(waiting), 0)).toBe(20);
    expect((await section.show(['queues', 'queues', 'emails']))?.lists).toMatchObject([{ name: 'partitions' }]);
    expect(await section.show(['queues', 'queues', 'unknown'])).toBeUndefined();
    expect(rowsOf(await section.list(['queues', 'queues'], { limit: 9 })).map(({ queue }) => queue)).toEqual([
      ...['emails', 'slow', 'limited'],
    ]);
  });
});

it('makes no section without the service of the lib', () => {
  const context = { payload: (payload: unknown) => ({ payload }), nowMs: () => 0 };
  expect(queuesSection({ find: () => undefined }, context)).toBeUndefined();
});
