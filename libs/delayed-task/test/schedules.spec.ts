import { Logger } from '@nestjs/common';
import { defineTask, type TaskContext } from 'luanest/delayed-task';
import { eventually } from '../../../test/support/wait';
import { scheduleTasks } from '../src/delayed-task.scripts';
import { deferTasks, fireSchedule, takeTasks } from '../src/worker/worker.scripts';
import { checkRule, nextSlot } from '../src/queue/slots';
import { inventory, listen, openBench, redisNow, servers, takeCall, type Bench } from './support';
import { few } from '../../../test/support/few';

const HOUR = 3_600_000;
/** Id under which a schedule is stored. */
const stored = (id: string): string => `\u0001${id}`;

describe.each(few(servers))('schedules on %s', (_, client, partitions) => {
  const benches: Bench[] = [];
  async function open(options = {}, prefix?: string): Promise<Bench> {
    const bench = await openBench(client(), { partitions, ...options }, prefix === undefined ? {} : { prefix });
    benches.push(bench);
    return bench;
  }
  afterEach(async () => {
    jest.restoreAllMocks();
    for (const bench of benches.splice(0)) await bench.close();
  });

  /** Makes a schedule due, as if its slot had come. */
  async function slotCame(bench: Bench, id: string, atMs: number): Promise<void> {
    await bench.raw.zadd(bench.partitionOf(stored(id)).due, 'XX', atMs, stored(id));
    await bench.raw.spublish(bench.partitionOf(stored(id)).waits, 'due');
  }

  it('run one task for each slot, on whatever worker', async () => {
    const first = await open();
    const workers = [first, await open({}, first.prefix), await open({}, first.prefix)];
    const runs: TaskContext[] = [];
    for (const worker of workers) {
      worker.tasks.handle('tick', (__, task) => void runs.push(task));
      worker.work();
    }
    const [{ nextRunAtMs }] = (await Promise.all(
      workers.map(({ tasks }) => tasks.upsertSchedule('each-second', { everyMs: 1_000 }, { name: 'tick' })),
    )) as [{ nextRunAtMs: number }];
    expect(nextRunAtMs % 1_000).toBe(0);
    await eventually(() => expect(runs.length).toBeGreaterThanOrEqual(3));
    expect(await first.tasks.removeSchedule('each-second')).toBe(true);
    const slots = runs.map(({ id }) => Number(id.slice('each-second@'.length)));
    expect(slots).toEqual(slots.map((__, i) => (slots[0] as number) + i * 1_000));
    for (const [i, { runAtMs, attempt }] of runs.entries()) expect([runAtMs, attempt]).toEqual([slots[i], 1]);
    expect(await first.tasks.removeSchedule('each-second')).toBe(false);
    await eventually(async () =>
      expect(await inventory(first)).toEqual({ due: [], leased: [], dead: [], problems: [] }),
    );
  });

  it('stay as they are if they are made again, and begin again if they change', async () => {
    const bench = await open({ work: false });
    const { tasks } = bench;
    const mail = defineTask<{ to: string }>({ name: 'mail', attempts: 3 });
    const task = { task: mail, payload: { to: 'a' }, group: 'shop' } as const;
    const { nextRunAtMs } = await tasks.upsertSchedule('m', { cron: '0 9 * * *', timeZone: 'Asia/Shanghai' }, task);
    expect(new Date(nextRunAtMs).toISOString()).toMatch(/T01:00:00.000Z$/);
    // The slot has come, and no worker has taken it.
    const late = (await redisNow(bench.raw)) - 5_000;
    await slotCame(bench, 'm', late);
    const again = await tasks.upsertSchedule('m', { timeZone: 'Asia/Shanghai', cron: '0 9 * * *' }, task);
    expect(again).toEqual({ nextRunAtMs: late });
    expect(await tasks.getSchedule('m')).toEqual({
      id: 'm',
      rule: { cron: '0 9 * * *', timeZone: 'Asia/Shanghai' },
      name: 'mail',
      group: 'shop',
      payload: { to: 'a' },
      nextRunAtMs: late,
    });
    const changed = await tasks.upsertSchedule('m', { everyMs: HOUR }, task);
    expect(changed.nextRunAtMs % HOUR).toBe(0);
    expect(changed.nextRunAtMs).toBeGreaterThan(Date.now());
    expect(await tasks.getSchedule('m')).toMatchObject({ rule: { everyMs: HOUR }, ...changed });
    expect(await tasks.getSchedule('none')).toBeUndefined();
  });

  it('are listed, and are not listed as tasks', async () => {
    const { tasks } = await open({ work: false });
    const ids = Array.from({ length: 5 }, (__, i) => `shop-${i}`);
    for (const id of ids) await tasks.upsertSchedule(id, { everyMs: HOUR }, { name: 't', payload: id });
    await tasks.schedule('t', null, { id: 'task', delayMs: HOUR });
    const seen: string[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await tasks.listSchedules({ limit: 2, ...(cursor !== undefined && { cursor }) });
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
      if (cursor === undefined) break;
    }
    expect(seen.sort()).toEqual(ids);
    expect((await tasks.list({ state: 'waiting' })).items.map(({ id }) => id)).toEqual(['task']);
    expect(await tasks.cancelAll()).toBe(1);
    expect((await tasks.listSchedules()).items).toHaveLength(5);
  });

  it('lose no slot and double none if a worker dies before, or after, it has fired', async () => {
    const bench = await open();
    const { tasks } = bench;
    const runs: string[] = [];
    await tasks.upsertSchedule('d', { everyMs: HOUR }, { name: 't', group: 'g' });
    const slot = Math.floor((await redisNow(bench.raw)) / HOUR) * HOUR;
    await slotCame(bench, 'd', slot);
    const partition = bench.partitionOf(stored('d'));
    const { due, leased, tasks: records, runs: runKey, waits, lines, heads } = partition;
    const call = takeCall(partition, 'died', { token: 'died', limit: 1, leaseMs: HOUR });
    const took = await bench.registry.run(takeTasks, call);
    expect(took.tasks).toMatchObject([{ id: stored('d'), attempt: 1, runAtMs: slot }]);
    // It is dead, and its lease ends.
    await bench.raw.zadd(leased, 'XX', 1, stored('d'));
    tasks.handle('t', (__, { id }) => void runs.push(id));
    bench.work();
    await eventually(() => expect(runs).toEqual([`d@${slot}`]));
    await eventually(async () => expect(await tasks.getSchedule('d')).toMatchObject({ nextRunAtMs: slot + HOUR }));
    // The dead worker fires after all.
    const fire = (token: string) =>
      bench.registry.run(fireSchedule, {
        keys: { due, leased, tasks: records, runs: runKey, waits, lines, heads },
        args: { id: stored('d'), token, taskId: `d@${slot}`, record: 'x', slotMs: slot, nextMs: slot + 9 * HOUR },
      });
    expect(await fire('died')).toBe('lost');
    await eventually(async () => expect(await tasks.stats()).toMatchObject({ waiting: 1, running: 0 }));
    // The reply to a call that has fired is lost, and the call is sent again.
    const token = (await bench.raw.hget(runKey, stored('d')))?.split(' ')[2] as string;
    expect(await fire(token)).toBe('fired');
    expect(await tasks.getSchedule('d')).toMatchObject({ nextRunAtMs: slot + HOUR });
    expect(runs).toEqual([`d@${slot}`]);
    expect((await inventory(bench)).problems).toEqual([]);
  });

  it('are never dead letters, and take no slot that is over', async () => {
    const bench = await open({ work: false });
    await bench.tasks.upsertSchedule('k', { everyMs: HOUR }, { name: 't' });
    const partition = bench.partitionOf(stored('k'));
    await slotCame(bench, 'k', 1);
    await bench.registry.run(takeTasks, takeCall(partition, 'w', { token: 'x', limit: 1, leaseMs: HOUR }));
    const { due, leased, runs, dead, waits } = partition;
    const args = { longestMs: 0, share: 1_000, error: 'unknown', pairs: [stored('k'), 'x'] };
    const call = { keys: { due, leased, runs, dead, waits }, args };
    expect(await bench.registry.run(deferTasks, call)).toEqual([1]);
    expect((await bench.tasks.deadLetters()).items).toEqual([]);
    const { tasks, lines, heads } = partition;
    const keys = { due, lines, heads, leased, tasks, runs, dead, waits, operation: partition.operation('o') };
    const late = { conflict: 'replace', operationMs: 1_000, tasks: [stored('k'), 'a1', 'x'] };
    expect(await bench.registry.run(scheduleTasks, { keys, args: late })).toMatchObject([{ status: 'kept' }]);
    expect(await bench.tasks.getSchedule('k')).toMatchObject({ rule: { everyMs: HOUR } });
  });

  it('are brought back from a slot too far ahead, as after a wrong clock of Redis, when they are made again', async () => {
    const { tasks, ...bench } = await open({ work: false });
    const make = () => tasks.upsertSchedule('far', { everyMs: HOUR }, { name: 't' });
    await make();
    const slot = Math.floor((await redisNow(bench.raw)) / HOUR) * HOUR;
    await bench.raw.zadd(bench.partitionOf(stored('far')).due, 'XX', slot + 9_000 * HOUR, stored('far'));
    expect((await make()).nextRunAtMs).toBeLessThanOrEqual(slot + 2 * HOUR);
    expect((await tasks.getSchedule('far'))?.nextRunAtMs).toBeLessThanOrEqual(slot + 2 * HOUR);
  });

  it('whose next slot is not known are handed back, and nobody says that a handler is missing', async () => {
    const warnings = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const bench = await open();
    const { tasks } = bench;
    tasks.handle('t', () => undefined);
    const failed = listen('callFailed');
    const settled = listen('attemptSettled');
    await tasks.upsertSchedule('never', { cron: '0 0 29 2 *' }, { name: 't' });
    const { tasks: records } = bench.partitionOf(stored('never'));
    const record = (await bench.raw.hget(records, stored('never'))) as string;
    await bench.raw.hset(records, stored('never'), record.replace('29 2', '30 2'));
    bench.work();
    await slotCame(bench, 'never', 1);
    await eventually(() => expect(settled.events).toMatchObject([{ id: stored('never'), status: 'unknown' }]));
    failed.stop();
    settled.stop();
    expect(String(failed.events[0]?.error)).toContain('No execution date');
    const lines = [...warnings.mock.calls, ...errors.mock.calls].flat().map(String);
    expect(lines.filter((line) => line.includes('handler'))).toEqual([]);
    await tasks.removeSchedule('never');
  });

  it('make one task of all slots that were missed', async () => {
    const bench = await open();
    const { tasks } = bench;
    const runs: string[] = [];
    await tasks.upsertSchedule('missed', { everyMs: 1_000 }, { name: 't' });
    const now = await redisNow(bench.raw);
    const old = Math.floor(now / 1_000) * 1_000 - HOUR;
    await slotCame(bench, 'missed', old);
    tasks.handle('t', (__, { id }) => void runs.push(id));
    bench.work();
    await eventually(() => expect(runs[0]).toBe(`missed@${old}`));
    await eventually(() => expect(runs.length).toBeGreaterThan(1));
    expect(Number(runs[1]?.slice('missed@'.length))).toBeGreaterThan(now);
    await tasks.removeSchedule('missed');
  });

  it('go on after a task that fails for good', async () => {
    const bench = await open({ attempts: 1 });
    const { tasks } = bench;
    const settled = listen('attemptSettled');
    tasks.handle('t', () => {
      throw new Error('broken');
    });
    bench.work();
    await tasks.upsertSchedule('f', { everyMs: 1_000 }, { name: 't' });
    await eventually(async () => expect((await tasks.deadLetters()).items.length).toBeGreaterThan(1));
    expect(await tasks.getSchedule('f')).toBeDefined();
    await tasks.removeSchedule('f');
    settled.stop();
    expect(settled.events.map(({ id }) => id.slice(0, 2))).toEqual(settled.events.map(() => 'f@'));
  });

  it('refuse what is wrong, before anything is sent', async () => {
    const { tasks } = await open({ work: false });
    const at = { name: 't' };
    const wrong: [string, unknown, unknown, string][] = [
      ['', { everyMs: HOUR }, at, 'id is "". Expected 1 to 200 characters'],
      ['a', {}, at, 'neither cron nor everyMs'],
      ['a', { cron: '* * * * *', everyMs: HOUR }, at, 'both cron and everyMs'],
      ['a', { everyMs: 999 }, at, 'rule.everyMs is 999'],
      ['a', { everyMs: HOUR, timeZone: 'UTC' }, at, 'rule.timeZone has an effect only with rule.cron'],
      [
        'a',
        { cron: 'soon' },
        at,
        'rule.cron is "soon", in the time zone "UTC". Expected an expression that the package cron accepts.',
      ],
      ['a', { cron: '* * * * *', timeZone: 'Mars/Base' }, at, 'Mars/Base'],
      ['a', { cron: '0 0 30 2 *' }, at, 'No execution date'],
      ['a', { cron: '* * * * *', timeZone: '' }, at, 'rule.timeZone is ""'],
      ['a', { everyMs: HOUR }, { name: 't', grup: 'x' }, 'There is no option "grup" in task'],
      ['a', { cron: 7 }, at, 'rule.cron is 7'],
      ['a', { every: 7 }, at, 'There is no option "every"'],
      ['a', { everyMs: HOUR }, { name: 't', delayMs: 1 }, 'The task of the schedule has the option delayMs'],
      ['a', { everyMs: HOUR }, { name: 't', id: 'x' }, 'The task of the schedule has the option id'],
      ['a', { everyMs: HOUR }, { name: '' }, 'name is ""'],
      ['a', { everyMs: HOUR }, { name: 't', group: '' }, 'group is ""'],
    ];
    for (const [id, rule, task, message] of wrong) {
      await expect(tasks.upsertSchedule(id, rule as never, task as never)).rejects.toThrow(message);
    }
    expect((await tasks.listSchedules()).items).toEqual([]);
    await expect(tasks.listSchedules(null as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });
});

describe('slots', () => {
  const after = (rule: Parameters<typeof nextSlot>[0], from: string): string =>
    new Date(nextSlot(checkRule(rule), Date.parse(from))).toISOString();

  it.each([
    [{ everyMs: 60_000 }, '2026-11-28T10:00:00.000Z', '2026-11-28T10:01:00.000Z'],
    [{ everyMs: 60_000 }, '2026-11-28T10:00:59.999Z', '2026-11-28T10:01:00.000Z'],
    [{ cron: '*/5 * * * * *' }, '2026-11-28T10:00:00.000Z', '2026-11-28T10:00:05.000Z'],
    [{ cron: '0 9 * * 1-5', timeZone: 'Asia/Shanghai' }, '2026-11-27T10:00:00.000Z', '2026-11-30T01:00:00.000Z'],
    [{ cron: '0 0 29 2 *' }, '2026-11-28T10:00:00.000Z', '2028-02-29T00:00:00.000Z'],
    // Clocks go forward from 2:00 to 3:00, and back from 2:00 to 1:00.
    [{ cron: '30 3 * * *', timeZone: 'America/New_York' }, '2027-03-14T05:00:00.000Z', '2027-03-14T07:30:00.000Z'],
    [{ cron: '30 12 * * *', timeZone: 'America/New_York' }, '2026-11-01T05:00:00.000Z', '2026-11-01T17:30:00.000Z'],
  ])('of %j after %s: %s', (rule, from, expected) => {
    expect(after(rule, from)).toBe(expected);
  });

  describe('where the clocks are changed', () => {
    afterEach(() => jest.restoreAllMocks());

    /** Slots from one to the next, each computed by a process whose clock is some ms off. */
    function slotsOf(rule: Parameters<typeof nextSlot>[0], from: string, to: string, offMs = 0): string[] {
      const slots: string[] = [];
      const now = jest.spyOn(Date, 'now');
      for (let at = Date.parse(from); ;) {
        now.mockReturnValue(at + offMs);
        const next = nextSlot(rule, at);
        expect(next).toBeGreaterThan(at);
        if (next > Date.parse(to)) return slots;
        slots.push(new Date(next).toISOString().slice(5, 16));
        // The worker that takes it has a delay.
        at = next + 2;
      }
    }

    it.each([
      // Back from 2:00 to 1:00 at 6:00 UTC.
      ['0 2 * * *', 'America/New_York', '2027-11-07T04:00Z', ['11-07T07:00', '11-08T07:00']],
      ['30 2 * * *', 'America/New_York', '2027-11-07T04:00Z', ['11-07T07:30', '11-08T07:30']],
      ['30 1 * * *', 'America/New_York', '2027-11-07T04:00Z', ['11-07T05:30', '11-08T06:30']],
      // Back from 3:00 to 2:00 at 1:00 UTC.
      ['0 3 * * *', 'Europe/Berlin', '2027-10-30T12:00Z', ['10-31T02:00', '11-01T02:00']],
      // Forward from 2:00 to 3:00 at 7:00 UTC: the slot comes when the clocks go forward.
      ['30 2 * * *', 'America/New_York', '2027-03-14T04:00Z', ['03-14T07:00', '03-15T06:30']],
    ])('are once a day for %s in %s', (cron, timeZone, from, expected) => {
      const to = new Date(Date.parse(from) + 40 * HOUR).toISOString();
      expect(slotsOf({ cron, timeZone }, from, to)).toEqual(expected);
    });

    it.each([
      ['America/New_York', '2027-11-07T05:30Z'],
      ['Europe/Berlin', '2027-10-31T00:30Z'],
      ['Australia/Sydney', '2027-04-03T15:30Z'],
      ['Australia/Lord_Howe', '2027-04-03T14:30Z'],
    ])('go on every ten minutes in %s, if the clock of the process is behind or ahead', (timeZone, from) => {
      const to = new Date(Date.parse(from) + 2 * HOUR).toISOString();
      const expected = Array.from({ length: 12 }, (__, i) =>
        new Date(Date.parse(from) + (i + 1) * 600_000).toISOString().slice(5, 16),
      );
      for (const offMs of [0, -100, 100]) {
        expect([offMs, slotsOf({ cron: '*/10 * * * *', timeZone }, from, to, offMs)]).toEqual([offMs, expected]);
      }
    });
  });
});
