import { LostError, NotReplicatedError } from 'luanest/script-registry';
import { Cluster, Redis } from 'ioredis';
import { LockService } from 'luanest/lock';
import { startCluster, type RedisCluster, type RedisServer } from 'luanest/testing/servers';
import { eventually } from '../../../test/support/wait';
import { resolveOptions } from '../src/lock.options';
import { luaResource } from './recipes';
import { openBench, quiet, type Bench } from './support';

describe('locks when a master of the Cluster dies', () => {
  let cluster: RedisCluster;
  let one: Bench;
  let two: Bench;
  const dead = new Set<RedisServer>();

  beforeAll(async () => {
    cluster = await startCluster();
    const open = (): Promise<Bench> =>
      openBench(
        quiet(new Cluster(cluster.startupNodes, { slotsRefreshTimeout: 5_000, clusterRetryStrategy: () => 50 })),
        { deadlineMs: 20_000 },
        { prefix: 'failover', deadlineMs: 20_000 },
      );
    [one, two] = [await open(), await open()];
  }, 60_000);
  afterAll(async () => {
    one.close();
    two.close();
    await cluster.stop();
  });

  /** A name whose master has a replica still, and both servers. */
  async function fresh(start: string): Promise<{ name: string; master: RedisServer; replica: RedisServer }> {
    for (let i = 0; ; i++) {
      const name = `${start}-${i}`;
      const master = await cluster.masterOf(one.keyOf(name));
      const replica = (await cluster.replicasOf(master)).find((server) => !dead.has(server) && server.live);
      if (replica) return { name, master, replica };
    }
  }

  it('a lock with replicas: 1 survives a failover', async () => {
    const { name, master } = await fresh('waited');
    const terms = { ...resolveOptions({ replicas: 1, replicasTimeoutMs: 10_000 }), deadlineMs: 20_000 };
    const lock = await new LockService(one.registry, terms).acquire(name, { leaseMs: 120_000 });
    dead.add(master);
    await cluster.killMaster(master);
    expect(await two.locks.status(name)).toMatchObject({ held: true, fence: lock.fence });
    expect(await two.locks.tryAcquire(name)).toBeUndefined();
    // The new master has no replica.
    await expect(lock.extend()).rejects.toMatchObject({ code: 'NOT_REPLICATED', during: 'renew' });
    expect(await lock.release()).toBe('released');
  }, 90_000);

  it('a renewal that no replica has does not count with replicas: 1: nobody else gets the lock while it is held', async () => {
    const { name, master, replica } = await fresh('renewed');
    const terms = { ...resolveOptions({ replicas: 1, replicasTimeoutMs: 100 }), deadlineMs: 20_000 };
    const careful = new LockService(one.registry, terms);
    const lock = await eventually(() => careful.acquire(name, { leaseMs: 6_000 }));
    await lock.extend();
    await cutOff(master, replica);
    await expect(lock.extend()).rejects.toMatchObject({ code: 'NOT_REPLICATED', during: 'renew', copies: 0 });
    // The master has renewed the lease again and again when it dies, and the lease that the replica has is over.
    await eventually(() => expect(lock.held).toBe(false), { timeoutMs: 20_000 });
    expect((lock.signal.reason as Error).message).toContain('the lease ended');
    expect(await one.locks.status(name)).toMatchObject({ held: true, fence: lock.fence });
    dead.add(master);
    await master.kill();
    replica.resume();
    await cluster.killMaster(master);
    const next = await eventually(() => two.locks.acquire(name, { leaseMs: 60_000, waitMs: 0 }));
    expect(next.fence).toBeGreaterThan(lock.fence);
    expect(await next.release()).toBe('released');
  }, 120_000);

  it('a lock that no replica has is released with replicas: 1; without it the lock may be lost, and its fence is refused', async () => {
    const { name, master, replica } = await fresh('alone');
    const write = luaResource(one.raw, `${one.keyOf(name)}:resource`);
    await cutOff(master, replica);
    const impatient = new LockService(one.registry, resolveOptions({ replicas: 1, replicasTimeoutMs: 50 }));
    const acquiring = impatient.acquire(name);
    await expect(acquiring).rejects.toThrow(NotReplicatedError);
    await expect(acquiring).rejects.toThrow(
      'reached 0 of 1 replicas within replicasTimeoutMs (50 ms), so the lock was not acquired and the work did not run.',
    );
    const lock = await one.locks.acquire(name, { leaseMs: 15_000 });
    const { signal } = lock;
    dead.add(master);
    await master.kill();
    replica.resume();
    await cluster.killMaster(master);

    const next = await eventually(() => two.locks.acquire(name, { leaseMs: 60_000, waitMs: 0 }));
    expect(next.fence).toBeGreaterThan(lock.fence);
    expect(await write(2, next.fence)).toBe(true);
    expect(await write(1, lock.fence)).toBe(false);
    await eventually(() => expect(signal.aborted).toBe(true), { timeoutMs: 30_000 });
    expect((signal.reason as Error).message).toContain('at a renewal, Redis had no lease of this holder any more');
    expect(() => lock.assertHeld()).toThrow(LostError);
    expect(await lock.release()).toBe('lost');
    expect(await next.release()).toBe('released');
  }, 120_000);

  /** Stops a replica so that nothing the master writes from now on is ever in its hands, not even unread. */
  async function cutOff(master: RedisServer, replica: RedisServer): Promise<void> {
    replica.pause();
    const admin = quiet(new Redis(master.port));
    await eventually(async () => {
      await admin.call('CLIENT', 'KILL', 'TYPE', 'replica');
      expect(await admin.info('replication')).toContain('connected_slaves:0');
    });
    admin.disconnect();
  }
});
