import { Cluster } from 'ioredis';
import { startCluster, type RedisCluster, type RedisServer } from 'luanest/testing/servers';
import { eventually, sleep } from '../../../test/support/wait';
import { group, openBench, quiet, type Bench } from './support';

const PARTITIONS = 6;

describe('streams on a Cluster of their own', () => {
  let cluster: RedisCluster;
  let one: Bench;
  let two: Bench;
  beforeAll(async () => {
    cluster = await startCluster();
    const open = (): Promise<Bench> =>
      openBench(
        quiet(new Cluster(cluster.startupNodes, { slotsRefreshTimeout: 5_000, clusterRetryStrategy: () => 50 })),
        { partitions: PARTITIONS, leaseMs: 3_000, attempts: 100 },
        { prefix: 'failover', deadlineMs: 10_000 },
      );
    [one, two] = [await open(), await open()];
  }, 60_000);
  afterAll(async () => {
    await Promise.all([one.close(), two.close()]);
    await cluster.stop();
  });

  it('partitions lie on all masters, evenly', async () => {
    const count = async (partitions: number): Promise<number[]> => {
      const masters = new Map<RedisServer, number>();
      for (let i = 0; i < partitions; i++) {
        const master = await cluster.masterOf(one.keys('s', 'g', i).stream);
        masters.set(master, (masters.get(master) ?? 0) + 1);
      }
      return [...masters.values()].sort();
    };
    expect(await count(3)).toEqual([1, 1, 1]);
    expect(await count(6)).toEqual([2, 2, 2]);
    expect(await count(16)).toEqual([5, 5, 6]);
  });

  it.each(['planned', 'sudden'] as const)(
    'a %s failover loses no message that a replica had',
    async (how) => {
      const stream = `s-${how}`;
      const times = new Map<number, number>();
      const options = group(stream, 'g', { concurrency: 8 });
      const work = async ({ payload }: { payload: number }): Promise<void> => {
        await sleep(20);
        times.set(payload, (times.get(payload) ?? 0) + 1);
      };
      const messages = Array.from({ length: 1_200 }, (_, payload) => ({ payload, operationId: `o${payload}` }));
      await one.streams.publishMany(stream, messages);
      const master = await cluster.masterOf(one.keys(stream, 'g').stream);
      await cluster.untilReplicated();
      const handles = [
        await one.streams.handle<number>(options, work),
        await two.streams.handle<number>(options, work),
      ];
      await eventually(() => expect(times.size).toBeGreaterThan(100));
      await (how === 'planned' ? cluster.failover(master) : cluster.killMaster(master));
      await eventually(
        async () => {
          expect(times.size).toBe(messages.length);
          expect(await one.streams.stats(stream, 'g')).toMatchObject({ length: 0, pending: 0 });
        },
        { timeoutMs: 60_000, everyMs: 100 },
      );
      const twice = [...times.values()].filter((count) => count > 1).length;
      // Only what was in work, or acknowledged and not yet replicated, when the master went.
      expect(twice).toBeLessThan(messages.length / 2);
      expect((await one.streams.stats(stream, 'g')).dead).toBe(0);
      await Promise.all(handles.map((handle) => handle.stop()));
    },
    120_000,
  );
});
