import { performance } from 'node:perf_hooks';
import { eventually, sleep } from '../../../test/support/wait';
import { takeTasks } from '../src/worker/worker.scripts';
import { openBench, servers, takeCall, type Bench } from './support';
import { few } from '../../../test/support/few';

const HOUR = 3_600_000;

describe.each(few(servers))('startLimit on %s', (_, client, partitions) => {
  const benches: Bench[] = [];
  async function open(options = {}, prefix?: string): Promise<Bench> {
    const bench = await openBench(client(), { partitions, ...options }, prefix === undefined ? {} : { prefix });
    benches.push(bench);
    return bench;
  }
  afterEach(async () => {
    for (const bench of benches.splice(0)) await bench.close();
  });

  it('bounds the starts of all workers in a window, and no task waits longer than it must', async () => {
    const startLimit = { limit: 2 * partitions, windowMs: 500 };
    const first = await open({ startLimit });
    const workers = [first, await open({ startLimit }, first.prefix)];
    const starts: number[] = [];
    // The same number of tasks in each partition.
    const ids = first.partitions.flatMap((partition) => {
      const all = Array.from({ length: 1_000 }, (__, i) => `t${i}`);
      return all.filter((id) => first.partitionOf(id).due === partition.due).slice(0, 7);
    });
    await first.tasks.scheduleMany(ids.map((id, i) => ({ name: 't', id, ...(i % 2 === 0 && { group: 'g' }) })));
    const began = performance.now();
    for (const worker of workers) {
      worker.tasks.handle('t', () => void starts.push(performance.now() - began));
      worker.work();
    }
    await eventually(() => expect(starts).toHaveLength(7 * partitions));
    for (const [i, ms] of starts.entries()) {
      expect(i + 1).toBeLessThanOrEqual(startLimit.limit * (Math.floor(ms / startLimit.windowMs) + 1));
    }
    await eventually(async () => expect(await first.tasks.stats()).toMatchObject({ waiting: 0, running: 0 }));
  });

  it('delays no task that comes when the window has ended', async () => {
    const bench = await open({ startLimit: { limit: partitions, windowMs: 200 }, leaseMs: 20_000 });
    const late: number[] = [];
    bench.tasks.handle('t', (__, { lateMs }) => void late.push(lateMs));
    bench.work();
    for (let i = 0; i < 5; i++) {
      await bench.tasks.schedule('t', null);
      await eventually(() => expect(late).toHaveLength(i + 1), { timeoutMs: 10_000 });
      await sleep(250);
    }
    expect(Math.max(...late)).toBeLessThan(5_000);
  });

  it('counts no schedule, but its tasks', async () => {
    const bench = await open({ startLimit: { limit: partitions, windowMs: 400 } });
    const slots: number[] = [];
    bench.tasks.handle('t', (__, { id }) => void slots.push(Number(id.slice(2))));
    bench.work();
    await bench.tasks.upsertSchedule('s', { everyMs: 1_000 }, { name: 't' });
    await eventually(() => expect(slots).toHaveLength(3));
    expect(slots).toEqual(slots.map((__, i) => (slots[0] as number) + i * 1_000));
    expect(await bench.tasks.removeSchedule('s')).toBe(true);
  });

  it('counts retries, and not those of other queues', async () => {
    const bench = await open({
      startLimit: { limit: partitions, windowMs: HOUR },
      backoff: { delayMs: 1 },
      queues: { free: {} },
    });
    let attempts = 0;
    let free = 0;
    bench.tasks.handle('t', () => {
      attempts += 1;
      throw new Error('again');
    });
    bench.tasks.queue('free').handle('t', () => void (free += 1));
    bench.work();
    await bench.tasks.schedule('t', null, { id: 'a' });
    await bench.tasks.queue('free').scheduleMany(Array.from({ length: 20 }, () => ({ name: 't' })));
    await eventually(() => expect([attempts, free]).toEqual([1, 20]));
    await sleep(100);
    expect(attempts).toBe(1);
    const { starts, waits } = bench.partitionOf('a');
    expect(await bench.raw.pttl(starts)).toBeGreaterThan(HOUR / 2);
    // The window ends.
    await bench.raw.del(starts);
    await bench.raw.spublish(waits, 'due');
    await eventually(() => expect(attempts).toBe(2));
  });

  it('counts a take once whose reply was lost, and ends a window that has no end', async () => {
    const bench = await open({ work: false });
    const ids = Array.from({ length: 100 }, (__, i) => `t${i}`);
    const [keys] = bench.partitions as [Bench['partitions'][0]];
    const mine = ids.filter((id) => bench.partitionOf(id).due === keys.due).slice(0, 6);
    await bench.tasks.scheduleMany(mine.map((id) => ({ name: 't', id })));
    const take = async (token: string, most: number) => {
      const { keys: all, args } = takeCall(keys, 'w', { token, limit: 2, leaseMs: HOUR });
      const call = { keys: all, args: { ...args, most, windowMs: HOUR } };
      const { tasks: taken, nextAt, now } = await bench.registry.run(takeTasks, call);
      return [taken.length, nextAt - now > HOUR / 2];
    };
    expect(await take('a', 3)).toEqual([2, false]);
    expect(await take('a', 3)).toEqual([2, false]);
    expect(await bench.raw.get(keys.starts)).toBe('2');
    expect(await take('b', 3)).toEqual([1, false]);
    expect(await take('c', 3)).toEqual([0, true]);
    await bench.raw.persist(keys.starts);
    expect(await take('d', 3)).toEqual([2, false]);
    expect(await bench.raw.get(keys.starts)).toBe('2');
    expect(await bench.raw.pttl(keys.starts)).toBeGreaterThan(0);
  });

  it.each([
    [{ limit: 0, windowMs: 1 }, /startLimit.limit is 0. Expected an integer from \d+ to/],
    [{ limit: 1_000, windowMs: 0 }, 'startLimit.windowMs is 0. Expected an integer from 1 to 86400000'],
    [{ limit: 1_000 }, 'startLimit.windowMs is undefined'],
    [{ max: 1 }, 'There is no option "max" in startLimit. Known: limit, windowMs'],
    [7, 'startLimit is 7'],
  ])('refuses %j', async (startLimit, message) => {
    await expect(open({ startLimit })).rejects.toThrow(message);
    await expect(open({ queues: { slow: { startLimit } } })).rejects.toThrow(message);
  });
});
