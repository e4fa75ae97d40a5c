import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { note } from '../../../test/support/fault-notes';
import { forkWorker } from '../../../test/support/fork-worker';
import { sharedRedisUrl, uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { luaResource, SqlResources } from './recipes';
import { openBench, servers } from './support';
import type { WorkerJob, Woken } from './worker';
import { size } from '../../../test/support/size';

const standaloneClient = (servers[0] as (typeof servers)[0])[1] as () => Redis;
const LOCKS = ['left', 'right'];
const TARGET = size(600, 5_000);
const KILLS = size(3, 6);

type Unaddressed<T> = T extends unknown ? Omit<T, 'url'> : never;

describe('locks between processes', () => {
  const children = new Set<ChildProcess>();
  const idle: ChildProcess[] = [];
  let raw: Redis;
  beforeAll(() => {
    raw = standaloneClient();
  });
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL');
    raw.disconnect();
  });

  /** Gives a job to a worker that has done its own, or to a new one. */
  function start(job: Unaddressed<WorkerJob>): ChildProcess {
    const child = idle.pop() ?? forkWorker(join(__dirname, 'worker.ts'));
    children.add(child);
    child.send({ ...job, url: sharedRedisUrl() });
    return child;
  }

  const told = (child: ChildProcess, word: string): Promise<void> =>
    new Promise((resolve) => child.on('message', (message) => message === word && resolve()));

  const totals = async (prefix: string): Promise<number[]> =>
    (await raw.mget(LOCKS.map((name) => `${prefix}:total:${name}`))).map(Number);

  async function notedBy(prefix: string, workers: number): Promise<number[]> {
    const sums = LOCKS.map(async (name) => {
      const noted = await raw.mget(Array.from({ length: workers }, (_, i) => `${prefix}:by:${i}:${name}`));
      return noted.reduce((sum, count) => sum + Number(count), 0);
    });
    return Promise.all(sums);
  }

  /** Eight that count; `kills` times, as they get on, one of them is killed and another one started. */
  async function countBy(prefix: string, leaseMs: number, kills: number): Promise<{ workers: number; killed: number }> {
    let workers = 0;
    let killed = 0;
    const live = new Map<ChildProcess, Promise<unknown>>();
    let holder: ChildProcess | undefined;
    const add = async (): Promise<ChildProcess> => {
      const worker = String(workers++);
      const child = start({ mode: 'count', prefix, worker, locks: LOCKS, target: TARGET, leaseMs });
      live.set(child, Promise.race([once(child, 'exit'), told(child, 'done')]));
      child.on('message', (acquired) => (holder = acquired === LOCKS[0] ? child : holder));
      await told(child, 'ready');
      return child;
    };
    // None begins before the last one has started.
    for (const child of await Promise.all(Array.from({ length: 8 }, add))) child.send('go');
    for (let i = 1; i <= kills; i++) {
      const until = (i * TARGET) / (kills + 2);
      await eventually(async () => expect(Math.max(...(await totals(prefix)))).toBeGreaterThan(until), {
        timeoutMs: 180_000,
        everyMs: 5,
      });
      // Every other time the one that holds a lock.
      const any = [...live.keys()][Math.floor(Math.random() * live.size)];
      const victim = (i % 2 === 1 && holder && live.has(holder) ? holder : any) as ChildProcess;
      if (victim.exitCode === null && victim.kill('SIGKILL')) killed += 1;
      await live.get(victim);
      live.delete(victim);
      void add().then((child) => child.send('go'));
    }
    await Promise.all(live.values());
    idle.push(...live.keys());
    return { workers, killed };
  }

  async function expectNoneLost(prefix: string, workers: number): Promise<void> {
    const counted = await totals(prefix);
    note('messages, tasks, slots and grabs checked one by one', 2 * TARGET);
    note(
      'lost',
      counted.reduce((lost, count) => lost + TARGET - count, 0),
    );
    expect(counted).toEqual([TARGET, TARGET]);
    expect(await notedBy(prefix, workers)).toEqual([TARGET, TARGET]);
  }

  it('eight count under two locks, and no count is lost', async () => {
    const prefix = uniquePrefix();
    const { workers } = await countBy(prefix, 30_000, 0);
    await expectNoneLost(prefix, workers);
  }, 300_000);

  it('eight of which some are killed as they count lose none either', async () => {
    const prefix = uniquePrefix();
    // One that stands still between its last look at the lock and its write is not refused by a counter without a fence.
    const { workers, killed } = await countBy(prefix, 5_000, KILLS);
    note('workers killed (SIGKILL)', killed);
    expect(killed).toBeGreaterThan(0);
    await expectNoneLost(prefix, workers);
  }, 300_000);

  async function stopBeyond(leaseMs: number, resources: SqlResources): Promise<void> {
    const prefix = uniquePrefix();
    const other = await openBench(standaloneClient(), {}, { prefix });
    const sql = resources.at(prefix);
    const lua = luaResource(raw, `${prefix}:resource`);
    const holder = start({ mode: 'hold', prefix, lock: 'held', leaseMs });
    const [stale] = (await once(holder, 'message')) as [number];
    expect([await sql(1, stale), await lua(1, stale)]).toEqual([true, true]);
    holder.kill('SIGSTOP');
    const next = await other.locks.acquire('held', { leaseMs: 30_000, waitMs: 30_000 });
    expect(next.fence).toBeGreaterThan(stale);
    expect([await sql(2, next.fence), await lua(2, next.fence)]).toEqual([true, true]);
    const woken = once(holder, 'message') as Promise<[Woken]>;
    holder.send('look');
    holder.kill('SIGCONT');
    expect((await woken)[0]).toEqual({ thrown: 'LOST', aborted: true, released: 'lost' });
    expect([await sql(3, stale), await lua(3, stale)]).toEqual([false, false]);
    expect(await resources.totalOf(prefix)).toBe(2);
    expect(await next.release()).toBe('released');
    other.close();
  }

  it('holders that were stopped beyond their lease are refused everywhere', async () => {
    // The short lease has a timer of its own when its process stops, the long one not yet.
    const resources = await SqlResources.open();
    await Promise.all([stopBeyond(900, resources), stopBeyond(3_200, resources)]);
    await resources.close();
  }, 180_000);
});
