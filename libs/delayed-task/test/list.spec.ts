import type { DelayedTaskService } from 'luanest/delayed-task';
import { Gate } from '../../../test/support/gate';
import { eventually } from '../../../test/support/wait';
import { openBench, servers, type Bench } from './support';
import { few } from '../../../test/support/few';

const HOUR = 3_600_000;
type Options = Parameters<DelayedTaskService['list']>[0];

describe.each(few(servers))('list on %s', (_, client, partitions) => {
  let bench: Bench;
  let gate: Gate;
  beforeEach(async () => {
    gate = new Gate();
    bench = await openBench(client(), { partitions, attempts: 1 });
    bench.tasks.handle('slow', () => gate.pass());
    bench.tasks.handle('broken', () => {
      throw new Error('no');
    });
  });
  afterEach(async () => {
    gate.open();
    await bench.close();
  });

  /** Reads all pages. */
  async function all(options: Options): Promise<Awaited<ReturnType<DelayedTaskService['list']>>['items'][number][]> {
    const items = [];
    let cursor: string | undefined;
    do {
      const page = await bench.tasks.list({ ...options, ...(cursor !== undefined && { cursor }) });
      items.push(...page.items);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return items;
  }

  it('has the tasks of each state', async () => {
    await bench.tasks.schedule('slow', { a: 1 }, { id: 'waits', delayMs: HOUR });
    await bench.tasks.schedule('slow', 2, { id: 'runs' });
    await bench.tasks.schedule('broken', 3, { id: 'dies' });
    bench.work();
    await eventually(async () => expect(await bench.tasks.stats()).toMatchObject({ waiting: 1, running: 1, dead: 1 }));
    const atMs = expect.any(Number) as number;
    const rest = { attempts: 1, result: undefined, atMs };
    expect(await all({ state: 'waiting' })).toEqual([
      { id: 'waits', state: 'waiting', name: 'slow', payload: { a: 1 }, attemptsMade: 0, error: '', ...rest },
    ]);
    expect(await all({ state: 'running' })).toEqual([
      { id: 'runs', state: 'running', name: 'slow', payload: 2, attemptsMade: 1, error: '', ...rest },
    ]);
    expect(await all({ state: 'dead' })).toEqual([
      { id: 'dies', state: 'dead', name: 'broken', payload: 3, attemptsMade: 1, error: 'Error: no', ...rest },
    ]);
  });

  it.each([1, 7, 256])('has each task once, by time in its partition, in pages of %i', async (limit) => {
    const ids = Array.from({ length: 60 }, (__, i) => `t${i}`);
    // Several at one time: then by id.
    await bench.tasks.scheduleMany(ids.map((id, i) => ({ name: 'slow', id, delayMs: HOUR + (i % 5) * 1_000 })));
    const listed = await all({ state: 'waiting', limit });
    expect(listed.map(({ id }) => id).sort()).toEqual([...ids].sort());
    const times = new Map<unknown, number>();
    for (const { id, atMs } of listed) {
      const partition = bench.partitionOf(id);
      expect(atMs).toBeGreaterThanOrEqual(times.get(partition) ?? 0);
      times.set(partition, atMs);
    }
  });

  it('has only tasks of a name, and pages that end', async () => {
    const tasks = Array.from({ length: 300 }, (__, i) => ({
      name: i % 100 === 0 ? 'rare' : 'often',
      delayMs: HOUR + i,
    }));
    await bench.tasks.scheduleMany(tasks);
    expect((await all({ state: 'waiting', name: 'rare', limit: 2 })).map(({ name }) => name)).toEqual(
      Array(3).fill('rare'),
    );
    expect(await all({ state: 'waiting', name: 'never' })).toEqual([]);
    expect(await bench.tasks.list({ state: 'waiting', name: 'rare' })).toMatchObject({ items: { length: 3 } });
  });

  it('goes on where it was although tasks come and go', async () => {
    await bench.tasks.scheduleMany(
      Array.from({ length: 20 }, (__, i) => ({ name: 'slow', id: `t${i}`, delayMs: HOUR + i * 1_000 })),
    );
    const first = await bench.tasks.list({ state: 'waiting', limit: 10 });
    for (const { id } of first.items) await bench.tasks.cancel(id);
    await bench.tasks.schedule('slow', null, { id: 'earlier', delayMs: 1_000 });
    const rest = await bench.tasks.list({ state: 'waiting', limit: 100, cursor: first.nextCursor });
    const seen = [...first.items, ...rest.items].map(({ id }) => id);
    expect(seen.filter((id) => id !== 'earlier').sort()).toEqual(Array.from({ length: 20 }, (__, i) => `t${i}`).sort());
  });

  it.each<[Partial<Record<keyof Options | 'other', unknown>>, string]>([
    [{ state: 'done' }, 'state is "done"'],
    [{ state: 'waiting', limit: 0 }, 'limit is 0'],
    [{ state: 'waiting', cursor: 'x' }, 'cursor is "x"'],
    [{ state: 'waiting', name: '' }, 'name is ""'],
    [{ state: 'waiting', other: 1 }, 'There is no option "other"'],
  ])('refuses %j', async (options, message) => {
    await expect((async () => bench.tasks.list(options as unknown as Options))()).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining(message) as string,
    });
  });
});
