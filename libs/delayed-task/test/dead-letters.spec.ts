import { InvalidInputError } from 'luanest/script-registry';
import { type DeadLetter } from 'luanest/delayed-task';
import { size } from '../../../test/support/size';
import { eventually } from '../../../test/support/wait';
import { inventory, openBench, redisNow, servers, type Bench } from './support';

const HOUR = 3_600_000;

describe.each(servers)('dead letters on %s', (_name, client, partitions) => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench(client(), { partitions });
  });
  afterEach(() => bench.close());

  /** Makes tasks that died at `at(i)`, a few of each partition at the same ms. */
  async function bury(ids: readonly string[], at: (i: number) => number, name = 't'): Promise<void> {
    await bench.tasks.scheduleMany(ids.map((id) => ({ name, id, payload: id, delayMs: HOUR })));
    const writes = ids.map(async (id, i) => {
      const { due, dead, runs } = bench.partitionOf(id);
      await bench.raw.zrem(due, id);
      await bench.raw.hset(runs, id, `5 d x ${at(i)} ${at(i)} 0 Error: torn`);
      await bench.raw.zadd(dead, at(i), id);
    });
    await Promise.all(writes);
  }

  /** Reads page after page and does something to each task, as an operator's script would. */
  async function eachDead(limit: number, handle: (task: DeadLetter) => Promise<unknown>): Promise<string[]> {
    const seen: string[] = [];
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await bench.tasks.deadLetters({ limit, ...(cursor !== undefined && { cursor }) });
      for (const task of page.items) {
        seen.push(task.id);
        await handle(task);
      }
      cursor = page.nextCursor;
    }
    return seen;
  }

  const thousand = Array.from({ length: 1_000 }, (_, i) => `d${i}`);

  it.each(['drop', 'replay'] as const)(
    'a loop over pages that %ss each one reaches all of them',
    async (verb) => {
      const first = (await redisNow(bench.raw)) - HOUR;
      const many = thousand.slice(0, size(120, 1_000));
      await bury(many, (i) => first + Math.floor(i / 90));
      const seen = await eachDead(100, ({ id }) =>
        verb === 'drop' ? bench.tasks.drop([id]) : bench.tasks.replay([id]),
      );
      expect(seen.sort()).toEqual([...many].sort());
      expect((await bench.tasks.stats()).dead).toBe(0);
    },
    60_000,
  );

  it('pages stay right while tasks are dropped, also for ids of one ms with any bytes', async () => {
    const at = (await redisNow(bench.raw)) - HOUR;
    const ids = ['a', 'B', 'ä', 'Z', '_', 'é', 'aa', 'a b', '雪', 'ab', '😀', '~', 'A', '-', '0', '10', '9'];
    await bury(ids, () => at);
    const seen = await eachDead(2, ({ id }) => (id < 'c' ? bench.tasks.drop([id]) : Promise.resolve()));
    expect(seen.sort()).toEqual([...ids].sort());
  });

  it('pages end although tasks are dead-lettered again meanwhile', async () => {
    const first = (await redisNow(bench.raw)) - HOUR;
    const ids = thousand.slice(0, 20);
    await bury(ids, () => first);
    const seen = await eachDead(3, async ({ id }) => {
      await bench.tasks.drop([id]);
      const { dead } = bench.partitionOf(id);
      await bury([id], () => Date.now() + HOUR);
      expect(await bench.raw.zscore(dead, id)).not.toBeNull();
    });
    expect(seen.sort()).toEqual([...ids].sort());
  });

  it('replayAll and dropAll handle all dead letters, or those of a name or a time, and return the number', async () => {
    const first = (await redisNow(bench.raw)) - HOUR;
    await bury(thousand.slice(0, 300), (i) => first + (i % 3), 'one');
    await bury(thousand.slice(300, 500), (i) => first + (i % 2) * 1_000, 'two');
    expect(await bench.tasks.dropAll({ name: 'no such' })).toBe(0);
    expect(await bench.tasks.dropAll({ name: 'two', diedBeforeAtMs: first + 1_000 })).toBe(100);
    expect(await bench.tasks.replayAll({ name: 'two', diedFromAtMs: first + 1_000 })).toBe(100);
    expect(await bench.tasks.replayAll({ name: 'two' })).toBe(0);
    expect(await bench.tasks.stats()).toMatchObject({ dead: 300, waiting: 100 });
    expect(await bench.tasks.get('d301')).toMatchObject({ state: 'waiting', attemptsMade: 0, error: '' });
    expect(await bench.tasks.replayAll()).toBe(300);
    expect(await bench.tasks.replayAll()).toBe(0);
    expect(await bench.tasks.dropAll()).toBe(0);
    const { due, problems } = await inventory(bench);
    expect([due.length, problems]).toEqual([400, []]);
  });

  it('replayAll wakes a worker, and ends although all tasks fail again', async () => {
    const first = (await redisNow(bench.raw)) - HOUR;
    let ran = 0;
    bench.tasks.handle('t', () => {
      ran += 1;
      throw new Error('torn');
    });
    await bury(thousand.slice(0, 300), () => first);
    bench.work();
    // Its attempts follow an hour apart, so each replay is one run.
    expect(await bench.tasks.replayAll()).toBe(300);
    await eventually(() => expect(ran).toBeGreaterThanOrEqual(300));
  });

  it.each<[object, RegExp]>([
    [{ name: '' }, /name is ""/],
    [{ names: 'x' }, /There is no option "names"/],
    [{ diedBeforeAtMs: 'now' }, /diedBeforeAtMs is "now"/],
    [{ diedFromAtMs: new Date(5) }, /diedFromAtMs is Date .*Expected an integer/],
  ])('a filter %p is refused before anything is changed', async (filter, says) => {
    for (const all of [bench.tasks.replayAll.bind(bench.tasks), bench.tasks.dropAll.bind(bench.tasks)]) {
      const error = await all(filter).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(InvalidInputError);
      expect((error as Error).message).toMatch(says);
    }
  });
});
