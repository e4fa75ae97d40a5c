import { Cluster } from 'ioredis';
import { startCluster, type RedisCluster } from 'luanest/testing/servers';
import { eventually } from '../../../test/support/wait';
import { openBench, quiet, type Bench } from './support';

describe('workers on a Cluster of their own', () => {
  let cluster: RedisCluster;
  let bench: Bench;
  beforeAll(async () => {
    cluster = await startCluster();
    const client = quiet(new Cluster(cluster.startupNodes, { slotsRefreshTimeout: 5_000 }));
    bench = await openBench(client, { partitions: 6, leaseMs: 3_000 }, { deadlineMs: 5_000 });
  });
  afterAll(async () => {
    await bench.close();
    await cluster.stop();
  });

  it.each(['planned', 'sudden'] as const)(
    'go on through a %s failover: each task that was replicated is done',
    async (how) => {
      const ran = new Set<string>();
      const name = `t-${how}`;
      bench.tasks.handle(name, (_payload, { id }) => void ran.add(id));
      bench.work();
      const ids = Array.from({ length: 120 }, (_, i) => `${how}${i}`);
      await bench.tasks.scheduleMany(ids.map((id, i) => ({ name, id, delayMs: 1_000 + i * 20 })));
      await cluster.untilReplicated();
      const master = await cluster.masterOf(bench.partitions[0]?.due ?? '');
      await (how === 'planned' ? cluster.failover(master) : cluster.killMaster(master));
      await eventually(() => expect(ids.filter((id) => !ran.has(id))).toEqual([]), { timeoutMs: 40_000 });
      await eventually(async () => expect(await bench.tasks.stats()).toMatchObject({ waiting: 0, running: 0 }), {
        timeoutMs: 20_000,
      });
      // Sleepers of the partition that moved are woken as before.
      const id = ids.map((_, i) => `${how}-after-${i}`).find((one) => bench.partitionOf(one).index === 0) as string;
      await bench.tasks.schedule(name, null, { id, delayMs: 50 });
      await eventually(() => expect(ran.has(id)).toBe(true));
    },
    120_000,
  );
});
