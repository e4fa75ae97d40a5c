import type { TaskContext } from 'luanest/delayed-task';
import { retryLater } from 'luanest/delayed-task';
import { Gate } from '../../../test/support/gate';
import { eventually, sleep } from '../../../test/support/wait';
import { openBench, redisNow, servers, type Bench } from './support';
import { few } from '../../../test/support/few';

/**
 * The promises of BullMQ 6.7 about job schedulers, pauses, rate limits, deduplication and getters, in the words of this lib. docs/queues.md
 * has the rows that are another way, or not there. Not repeated here: what the suites of each feature say, such as groups.spec.ts.
 */
const HOUR = 3_600_000;

describe.each(few(servers))('as in BullMQ, on %s', (_, client, partitions) => {
  const benches: Bench[] = [];
  const ran: unknown[] = [];
  let gate: Gate;

  /** A process with handlers: `note` notes its payload, `slow` waits at the gate first, `broken` fails. */
  async function process(options: Parameters<typeof openBench>[1] = {}, prefix?: string): Promise<Bench> {
    const all = { partitions, leaseMs: 60_000, ...options };
    const bench = await openBench(client(), all, prefix === undefined ? {} : { prefix });
    benches.push(bench);
    bench.tasks.handle('note', (payload) => void ran.push(payload));
    bench.tasks.handle('slow', async (payload) => {
      await gate.pass();
      ran.push(payload);
    });
    bench.tasks.handle('broken', () => {
      throw new Error('broken');
    });
    bench.work();
    return bench;
  }
  const settled = (bench: Bench) =>
    eventually(async () => expect(await bench.tasks.stats()).toMatchObject({ waiting: 0, running: 0 }));

  beforeEach(() => {
    ran.length = 0;
    gate = new Gate();
  });
  afterEach(async () => {
    gate.open();
    for (const bench of benches.splice(0)) await bench.close();
  });

  describe('job schedulers', () => {
    it('one id is one schedule, also if many processes upsert it at the same time', async () => {
      const one = await process({ work: false });
      const all = [one, await process({ work: false }, one.prefix), await process({ work: false }, one.prefix)];
      const results = await Promise.all(
        all.flatMap(({ tasks }) =>
          Array.from({ length: 10 }, () => tasks.upsertSchedule('s', { everyMs: HOUR }, { name: 'note' })),
        ),
      );
      expect(new Set(results.map(({ nextRunAtMs }) => nextRunAtMs)).size).toBe(1);
      expect((await one.tasks.listSchedules()).items).toHaveLength(1);
    });

    it('an upsert changes the rule from an interval to a pattern, and the template, and adds no schedule', async () => {
      const { tasks } = await process({ work: false });
      await tasks.upsertSchedule('s', { everyMs: 60_000 }, { name: 'note', payload: 1 });
      await tasks.upsertSchedule('s', { cron: '30 3 * * *', timeZone: 'Europe/Berlin' }, { name: 'note', payload: 2 });
      const { items } = await tasks.listSchedules();
      expect(items).toMatchObject([
        { id: 's', payload: 2, rule: { cron: '30 3 * * *', timeZone: 'Europe/Berlin' }, name: 'note' },
      ]);
      const local = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: 'Europe/Berlin' });
      expect(local.format(items[0]?.nextRunAtMs)).toBe('03:30');
    });

    it('remove returns true if there was one, and stops the next slot', async () => {
      const { tasks } = await process();
      await tasks.upsertSchedule('s', { everyMs: 1_000 }, { name: 'note' });
      expect(await tasks.removeSchedule('s')).toBe(true);
      expect(await tasks.removeSchedule('s')).toBe(false);
      expect(await tasks.getSchedule('s')).toBeUndefined();
      await sleep(1_500);
      expect(ran).toEqual([]);
    });

    it('a slot whose task fails is retried, and the next slots go on', async () => {
      const bench = await process({ attempts: 2, backoff: 1 });
      const seen: TaskContext[] = [];
      bench.tasks.handle('fails', (__, task) => {
        seen.push(task);
        throw new Error('no');
      });
      await bench.tasks.upsertSchedule('s', { everyMs: 1_000 }, { name: 'fails' });
      await eventually(() => expect(new Set(seen.map(({ id }) => id)).size).toBeGreaterThanOrEqual(2));
      await bench.tasks.removeSchedule('s');
      await settled(bench);
      const dead = (await bench.tasks.deadLetters()).items;
      expect(dead.map(({ id, attemptsMade }) => [id, attemptsMade])).toEqual(
        [...new Set(seen.map(({ id }) => id))].map((id) => [id, 2]),
      );
    });

    it('a schedule whose task runs for longer than a slot does not wait for it', async () => {
      const bench = await process();
      await bench.tasks.upsertSchedule('s', { everyMs: 1_000 }, { name: 'slow', payload: 's' });
      await eventually(() => expect(gate.entered).toBeGreaterThanOrEqual(2));
      await bench.tasks.removeSchedule('s');
    });
  });

  describe('pause', () => {
    it('holds what is added, delayed and retried meanwhile, and loses none of it', async () => {
      const bench = await process({ attempts: 2, backoff: 1 });
      let failed = 0;
      bench.tasks.handle('fails once', (payload) => {
        if (failed++ === 0) throw new Error('once');
        ran.push(payload);
      });
      await bench.tasks.schedule('slow', 'running');
      await eventually(() => expect(gate.entered).toBe(1));
      await bench.tasks.pause();
      await bench.tasks.schedule('fails once', 'retried');
      await bench.tasks.schedule('note', 'delayed', { delayMs: 20 });
      await bench.tasks.schedule('note', 'added');
      gate.open();
      await eventually(() => expect(ran).toEqual(['running']));
      await sleep(200);
      expect(ran).toEqual(['running']);
      expect(await bench.tasks.stats()).toMatchObject({ paused: true, waiting: 3 });
      await bench.tasks.resume();
      await settled(bench);
      expect(new Set(ran)).toEqual(new Set(['running', 'retried', 'delayed', 'added']));
    });

    it('can be set and ended again and again, and is seen by a process that starts later', async () => {
      const one = await process();
      for (let i = 0; i < 3; i++) await one.tasks.pause();
      await one.tasks.schedule('note', 1);
      const later = await process({}, one.prefix);
      expect(await later.tasks.stats()).toMatchObject({ paused: true, overdue: 1 });
      await sleep(100);
      expect(ran).toEqual([]);
      for (let i = 0; i < 3; i++) await later.tasks.resume();
      await eventually(() => expect(ran).toEqual([1]));
    });
  });

  describe('rate limit', () => {
    it('bounds all workers together, and delays no task that comes after the window', async () => {
      const startLimit = { limit: partitions, windowMs: 300 };
      const one = await process({ startLimit });
      await process({ startLimit }, one.prefix);
      const ids = one.partitions.map(({ due }) =>
        Array.from({ length: 200 }, (__, i) => `t${i}`)
          .filter((id) => one.partitionOf(id).due === due)
          .slice(0, 3),
      );
      const began = await redisNow(one.raw);
      await one.tasks.scheduleMany(ids.flat().map((id) => ({ name: 'note', id })));
      await eventually(() => expect(ran).toHaveLength(3 * partitions));
      // The third window begins 600 ms after the first start.
      expect((await redisNow(one.raw)) - began).toBeGreaterThanOrEqual(600);
    });

    it('a handler can postpone its task without spending an attempt', async () => {
      const bench = await process({ attempts: 1 });
      const attempts: number[] = [];
      bench.tasks.handle('limited', (__, { attempt }) => {
        attempts.push(attempt);
        return attempts.length < 4 ? retryLater({ delayMs: 10, countsAsAttempt: false }) : 'done';
      });
      await bench.tasks.schedule('limited', null);
      await settled(bench);
      expect(attempts).toEqual([1, 1, 1, 1]);
      expect((await bench.tasks.deadLetters()).items).toEqual([]);
    });
  });

  describe('deduplication', () => {
    it('simple: until the task is done or a dead letter is dropped, others of its id are ignored', async () => {
      const bench = await process({ attempts: 1 });
      const { tasks } = bench;
      await tasks.schedule('slow', 'first', { id: 'd' });
      await eventually(() => expect(gate.entered).toBe(1));
      expect(await tasks.schedule('slow', 'second', { id: 'd' })).toMatchObject({ status: 'kept' });
      gate.open();
      await settled(bench);
      expect(ran).toEqual(['first']);
      expect(await tasks.schedule('note', 'third', { id: 'd' })).toMatchObject({ status: 'scheduled' });
      await settled(bench);
      await tasks.schedule('broken', 4, { id: 'd' });
      await eventually(async () => expect(await tasks.stats()).toMatchObject({ dead: 1 }));
      expect(await tasks.schedule('note', 5, { id: 'd' })).toMatchObject({ status: 'kept' });
      expect(await tasks.drop(['d'])).toBe(1);
      expect(await tasks.schedule('note', 6, { id: 'd' })).toMatchObject({ status: 'scheduled' });
      await settled(bench);
      expect(ran).toEqual(['first', 'third', 6]);
    });

    it('throttle: within a time, others of the operation are ignored, also when the task is done', async () => {
      const bench = await process({ operationRetentionMs: 2_000 });
      const first = await bench.tasks.schedule('note', 1, { operationId: 'o' });
      await settled(bench);
      expect(await bench.tasks.schedule('note', 2, { operationId: 'o' })).toEqual(first);
      await settled(bench);
      await eventually(async () => {
        await bench.tasks.schedule('note', 3, { operationId: 'o' });
        expect(ran).toEqual([1, 3]);
      });
    });

    it('debounce: the last one replaces the one that waits, and begins its delay again', async () => {
      const bench = await process();
      const results = [];
      for (let i = 0; i < 4; i++) {
        results.push(await bench.tasks.schedule('note', i, { id: 'd', delayMs: 1_500, onConflict: 'replace' }));
      }
      expect(results.map(({ status }) => status)).toEqual(['scheduled', 'replaced', 'replaced', 'replaced']);
      const times = results.map(({ runAtMs }) => runAtMs);
      expect(times).toEqual([...times].sort((a, b) => a - b));
      await settled(bench);
      expect(ran).toEqual([3]);
    });

    it('the id is free again when its task is cancelled', async () => {
      const { tasks } = await process({ work: false });
      await tasks.schedule('note', 1, { id: 'd', delayMs: HOUR });
      expect(await tasks.cancel('d')).toBe('cancelled');
      expect(await tasks.schedule('note', 2, { id: 'd' })).toMatchObject({ status: 'scheduled' });
    });

    it('of hundred calls at the same time, one schedules', async () => {
      const one = await process();
      const other = await process({}, one.prefix);
      const results = await Promise.all(
        Array.from({ length: 100 }, (__, i) =>
          (i % 2 === 0 ? one : other).tasks.schedule('slow', i, { id: 'd', delayMs: 20 }),
        ),
      );
      expect(results.filter(({ status }) => status === 'scheduled')).toHaveLength(1);
      await eventually(() => expect(gate.entered).toBe(1));
      gate.open();
      await settled(one);
      expect(ran).toHaveLength(1);
    });
  });

  describe('getters', () => {
    it('count and list tasks by state, find one by its id, and page in the order of their times', async () => {
      const { tasks } = await process({ attempts: 1, concurrency: 2 * partitions });
      await tasks.scheduleMany(
        [30, 10, 20].map((minutes) => ({
          name: 'note',
          id: `in ${minutes}`,
          delayMs: minutes * 60_000,
          payload: minutes,
        })),
      );
      await tasks.schedule('slow', 'runs', { id: 'runs' });
      await tasks.schedule('broken', 'dead', { id: 'dead' });
      await eventually(async () =>
        expect(await tasks.stats()).toMatchObject({ waiting: 3, overdue: 0, running: 1, dead: 1, paused: false }),
      );
      const idsOf = async (state: 'waiting' | 'running' | 'dead') =>
        (await tasks.list({ state })).items.map(({ id }) => id);
      const waiting = await idsOf('waiting');
      expect(partitions === 1 ? waiting : waiting.sort()).toEqual(['in 10', 'in 20', 'in 30']);
      expect(await idsOf('running')).toEqual(['runs']);
      expect(await idsOf('dead')).toEqual(['dead']);
      expect(await tasks.get('in 20')).toMatchObject({ state: 'waiting', payload: 20, attemptsMade: 0 });
      expect(await tasks.get('dead')).toMatchObject({ state: 'dead', error: 'Error: broken', attemptsMade: 1 });
      expect(await tasks.get('none')).toBeUndefined();
      const paged: string[] = [];
      for (let cursor: string | undefined; ;) {
        const page = await tasks.list({ state: 'waiting', limit: 1, ...(cursor !== undefined && { cursor }) });
        paged.push(...page.items.map(({ id }) => id));
        cursor = page.nextCursor;
        if (cursor === undefined) break;
      }
      expect(paged.sort()).toEqual(['in 10', 'in 20', 'in 30']);
    });

    it('keep a result for as long as the task asks, and let a caller wait for it', async () => {
      const { tasks } = await process({ attempts: 1 });
      tasks.handle('double', (n) => 2 * (n as number));
      const { id } = await tasks.schedule('double', 21, { keepResultMs: 60_000 });
      expect(await tasks.waitFor(id, { timeoutMs: 60_000 })).toMatchObject({ state: 'done', result: 42 });
      expect(await tasks.get(id)).toMatchObject({ state: 'done', result: 42 });
      await tasks.schedule('broken', null, { id: 'b' });
      expect(await tasks.waitFor('b', { timeoutMs: 60_000 })).toMatchObject({ state: 'dead', error: 'Error: broken' });
    });

    it('empty a queue: what waits by cancelAll, what is dead by dropAll; what runs stays', async () => {
      const bench = await process({ attempts: 1 });
      const { tasks } = bench;
      await tasks.schedule('broken', null);
      await tasks.schedule('slow', 'runs');
      await eventually(async () => expect(await tasks.stats()).toMatchObject({ running: 1, dead: 1 }));
      await tasks.scheduleMany(Array.from({ length: 30 }, () => ({ name: 'note', delayMs: HOUR })));
      expect(await tasks.cancelAll()).toBe(30);
      expect(await tasks.dropAll()).toBe(1);
      expect(await tasks.stats()).toMatchObject({ waiting: 0, running: 1, dead: 0 });
      gate.open();
      await settled(bench);
      expect(ran).toEqual(['runs']);
    });

    it('a dead letter is retried by its id, and a waiting task is run at once', async () => {
      const bench = await process({ attempts: 1 });
      const { tasks } = bench;
      let broken = true;
      tasks.handle('mended', (payload) => {
        if (broken) throw new Error('not yet');
        ran.push(payload);
      });
      await tasks.schedule('mended', 'again', { id: 'm' });
      await eventually(async () => expect(await tasks.stats()).toMatchObject({ dead: 1 }));
      broken = false;
      expect(await tasks.replay(['m'])).toBe(1);
      await tasks.schedule('note', 'now', { id: 'n', delayMs: HOUR });
      expect(await tasks.reschedule('n', { delayMs: 0 })).toMatchObject({ status: 'rescheduled' });
      await settled(bench);
      expect(ran.sort()).toEqual(['again', 'now']);
    });
  });
});
