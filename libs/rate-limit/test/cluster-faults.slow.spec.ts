import { Cluster } from 'ioredis';
import { startCluster, type RedisCluster, type RedisServer } from 'luanest/testing/servers';
import { eventually } from '../../../test/support/wait';
import { openBench, quiet, type Bench } from './support';

const minute = { windowMs: 60_000 };
const SUBJECTS = Array.from({ length: 60 }, (_, i) => `user-${i}`);

describe('a Cluster that fails over', () => {
  let cluster: RedisCluster;
  let bench: Bench;

  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.stop());
  beforeEach(async () => {
    const client = quiet(
      new Cluster(cluster.startupNodes, { slotsRefreshTimeout: 5_000, clusterRetryStrategy: () => 50 }),
    );
    // Cached refusals would hide who decides.
    const settings = { openMs: 100, cachedRefusals: 0 };
    bench = await openBench(client, { deadlineMs: 500, onRedisError: 'local' }, settings);
  });
  afterEach(() => bench.close());

  const sourceOf = async (subject: string): Promise<string> =>
    (await bench.service.consume({ name: 'seen', limit: 1_000_000, ...minute }, subject)).source;

  /** Checks all subjects in turn until `stop`. Each check must be decided, by Redis or by the policy. */
  function load(): { readonly decided: () => number; stop(): Promise<void> } {
    let [stopped, decided] = [false, 0];
    const workers = SUBJECTS.map(async (subject) => {
      while (!stopped) {
        await sourceOf(subject);
        decided += 1;
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    });
    return {
      decided: () => decided,
      async stop() {
        stopped = true;
        await Promise.all(workers);
      },
    };
  }

  async function allByRedis(): Promise<void> {
    await eventually(
      async () => {
        expect(new Set(await Promise.all(SUBJECTS.map(sourceOf)))).toEqual(new Set(['redis']));
      },
      { timeoutMs: 30_000 },
    );
  }

  it('planned failover: counts stay, every check is decided, and Redis decides again', async () => {
    const rule = { name: 'kept', limit: 3, ...minute };
    await eventually(async () => {
      const spent = await Promise.all(SUBJECTS.map((subject) => bench.service.consume(rule, subject, { cost: 3 })));
      expect(spent.filter(({ source }) => source !== 'redis')).toEqual([]);
    });
    const running = load();
    await eventually(() => expect(running.decided()).toBeGreaterThan(200));
    await cluster.failover((await cluster.masters())[0] as RedisServer);
    await allByRedis();
    await running.stop();
    await eventually(async () => {
      const after = await Promise.all(SUBJECTS.map((subject) => bench.service.peek(rule, subject)));
      expect(after.map(({ allowed, source }) => [allowed, source])).toEqual(SUBJECTS.map(() => [false, 'redis']));
    });
  }, 120_000);

  it('a master dies: every check is decided, and Redis decides again after the failover', async () => {
    await allByRedis();
    const running = load();
    await eventually(() => expect(running.decided()).toBeGreaterThan(200));
    await cluster.killMaster((await cluster.masters())[0] as RedisServer);
    await allByRedis();
    await running.stop();
  }, 120_000);
});
