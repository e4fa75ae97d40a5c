import { CONSOLE } from '../../internal/src';
import { eventually } from '../../../test/support/wait';
import { openBench, servers, type Bench } from './support';

const HOUR_MS = 3_600_000;
const never = (): Promise<void> => new Promise(() => undefined);

describe.each(servers)('what the console reads of a queue on %s', (_, connect, partitions) => {
  let bench: Bench;
  const console = () => {
    const [queue] = bench.tasks[CONSOLE]();
    if (queue === undefined) throw new Error('no queue');
    return queue;
  };
  const open = async (options: object): Promise<void> => {
    bench = await openBench(connect(), { partitions, drainMs: 1, abortGraceMs: 1, ...options });
  };
  afterEach(() => bench.close());

  it('counts the same tasks as stats, by partition', async () => {
    await open({});
    await bench.tasks.scheduleMany(Array.from({ length: 12 }, (_, i) => ({ name: 'a', delayMs: i < 4 ? 0 : HOUR_MS })));
    const { paused, partitions: all } = await console().look();
    const sum = (of: 'waiting' | 'overdue' | 'listeners') => all.reduce((count, one) => count + one[of], 0);
    expect({ paused, length: all.length, waiting: sum('waiting'), overdue: sum('overdue') }).toEqual({
      ...{ paused: false, length: partitions, waiting: 12, overdue: 4 },
    });
    expect(await bench.tasks.stats()).toMatchObject({ waiting: 12, overdue: 4 });
    expect(all[0]).toMatchObject({ listeners: 0, startsLeft: -1, windowLeftMs: 0, ended: 0, pausedGroups: [] });
  });

  it('counts the processes that listen', async () => {
    await open({});
    bench.tasks.handle('a', () => undefined);
    bench.work();
    await eventually(async () => {
      const { partitions: all } = await console().look();
      expect(all.map(({ listeners }) => listeners)).toEqual(Array(partitions).fill(1));
    });
  });

  it('counts the tasks before a task: in its partition, and in the line of its group', async () => {
    await open({});
    const ids = ['x@1700000000001', 'x@1700000000002', 'x@1700000000003'];
    for (const id of ids) await bench.tasks.schedule('a', 1, { id, delayMs: HOUR_MS + Number(id.at(-1)) });
    expect(await console().explain(ids[2] as string)).toMatchObject({ ahead: 2, isGroupPaused: false, worker: '' });
    const line = ids.map((id) => `y${id.slice(1)}`);
    for (const id of line) await bench.tasks.schedule('a', 1, { id, group: 'g', delayMs: HOUR_MS });
    await bench.tasks.pause({ group: 'g' });
    expect(await console().explain(line[2] as string)).toMatchObject({ ahead: 2, isGroupPaused: true });
    expect((await console().look()).partitions[0]?.pausedGroups).toEqual(['g']);
  });

  it('reads the limits of a group, and what is left of those of the queue', async () => {
    await open({
      ...{ groupLimits: { concurrency: partitions, rate: { limit: partitions, windowMs: HOUR_MS } } },
      startLimit: { limit: 2 * partitions, windowMs: HOUR_MS },
    });
    bench.tasks.handle('a', never);
    bench.work();
    const [first, second] = ['x@1700000000001', 'x@1700000000002'];
    await bench.tasks.schedule('a', 1, { id: first, group: 'g' });
    await eventually(async () => expect(await bench.tasks.get(first)).toMatchObject({ state: 'running' }));
    await bench.tasks.schedule('a', 2, { id: second, group: 'g' });
    await eventually(async () => {
      const explained = await console().explain(second);
      expect(explained).toMatchObject({ groupRunning: 1, look: { startsLeft: 1, running: 1 } });
      expect(explained.groupSpentMs).toBeGreaterThan(explained.nowMs);
      expect(explained.groupHeldMs).toBeGreaterThan(explained.nowMs);
    });
    expect(console().groupLimits).toEqual({ most: 1, starts: 1, windowMs: HOUR_MS });
    const { items } = await console().leases(10, undefined);
    expect(items).toMatchObject([{ id: first, attempt: 1, group: 'g' }]);
    expect((await console().explain(first)).worker).toBe(items[0]?.worker);
  });

  it('schedules the task of a schedule now, with its settings, and leaves its slots', async () => {
    await open({});
    const { nextRunAtMs } = await bench.tasks.upsertSchedule(
      's',
      { everyMs: 86_400_000 },
      {
        ...{ name: 'a', payload: { b: 1 }, attempts: 7, group: 'g' },
      },
    );
    const result = await console().runSchedule('s', 1_700_000_000_000);
    expect(result).toMatchObject({ id: 's@1700000000000', status: 'scheduled' });
    expect(await console().runSchedule('s', 1_700_000_000_000)).toMatchObject({ status: 'kept' });
    expect(await bench.tasks.get('s@1700000000000')).toMatchObject({ payload: { b: 1 }, attempts: 7, group: 'g' });
    expect(await bench.tasks.getSchedule('s')).toMatchObject({ nextRunAtMs });
    expect(await console().runSchedule('unknown', 1_700_000_000_000)).toBeUndefined();
  });
});
