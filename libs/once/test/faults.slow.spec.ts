import { Cluster, Redis } from 'ioredis';
import { startCluster, startRedis, type RedisCluster, type RedisServer } from 'luanest/testing/servers';
import { claimed, openBench, quiet, type Bench } from './support';

const terms = { leaseMs: 60_000, retentionMs: 120_000 };

describe('ids on a separate server', () => {
  let server: RedisServer;
  let bench: Bench;
  let admin: Redis;
  beforeAll(async () => {
    server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    bench = await openBench(quiet(new Redis(server.port, { retryStrategy: () => 20 })), { deadlineMs: 20_000 });
    admin = quiet(new Redis(server.port, { retryStrategy: () => 20 }));
  });
  afterAll(async () => {
    bench.close();
    admin.disconnect();
    await server.stop();
  });

  it('stay after a SCRIPT FLUSH between all calls', async () => {
    const { once } = bench;
    for (let i = 0; i < 20; i++) {
      const id = `flush ${i}`;
      await admin.script('FLUSH');
      expect(await once.first(id, terms)).toBe(true);
      const claim = claimed(await once.claim(id, terms));
      await admin.script('FLUSH');
      expect((await claim.renew()).status).toBe('renewed');
      await admin.script('FLUSH');
      expect((await (i % 2 ? claim.confirm(i) : claim.release())).status).toBe(i % 2 ? 'confirmed' : 'released');
    }
    expect(await once.claim('flush 1', terms)).toEqual({ status: 'done', result: 1, confirmed: true });
  });

  it('stay after a restart of Redis that keeps its data: claimed ids stay claimed, done ids done', async () => {
    const { once } = bench;
    const held = claimed(await once.claim('held', terms));
    await claimed(await once.claim('done', terms)).confirm('kept');
    expect(await once.first('first', terms)).toBe(true);
    await server.restart();
    expect((await once.claim('held', terms)).status).toBe('in-progress');
    expect((await held.renew()).status).toBe('renewed');
    expect((await held.confirm('late')).status).toBe('confirmed');
    expect(await once.claim('done', terms)).toEqual({ status: 'done', result: 'kept', confirmed: true });
    expect(await once.first('first', terms)).toBe(false);
  });

  it('cannot be claimed when the memory is full, and can still be released', async () => {
    const { once } = bench;
    const held = claimed(await once.claim('full', terms));
    const other = claimed(await once.claim('full too', terms));
    const before = await bench.raw.get(bench.keyOf('full'));
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    await admin.config('SET', 'maxmemory', '1');
    const refused = { code: 'SCRIPT_REFUSED' };
    await expect(once.claim('new', terms)).rejects.toMatchObject(refused);
    await expect(once.first('new', terms)).rejects.toMatchObject(refused);
    await expect(held.renew()).rejects.toMatchObject(refused);
    await expect(held.confirm('x'.repeat(1_000))).rejects.toMatchObject(refused);
    expect(await bench.raw.get(bench.keyOf('full'))).toBe(before);
    expect((await other.release()).status).toBe('released');
    await admin.config('SET', 'maxmemory', '0');
    expect(await bench.raw.exists(bench.keyOf('new'), bench.keyOf('new', 'first'))).toBe(0);
    expect((await held.confirm()).status).toBe('confirmed');
    expect((await once.claim('full too', terms)).status).toBe('claimed');
  });

  it('can be confirmed by run after Redis was unavailable while the work ran', async () => {
    const answer = await bench.once.run('away', terms, async () => {
      await server.kill();
      await server.restart();
      return 'worked';
    });
    expect(answer).toEqual({ status: 'ran', result: 'worked', confirmed: true });
    expect(await bench.once.claim('away', terms)).toMatchObject({ status: 'done', result: 'worked' });
  });
});

describe('ids on a separate Cluster', () => {
  let cluster: RedisCluster;
  let client: Cluster;
  let bench: Bench;
  beforeAll(async () => {
    cluster = await startCluster();
    client = quiet(new Cluster(cluster.startupNodes, { slotsRefreshTimeout: 5_000 }));
    bench = await openBench(client, { deadlineMs: 30_000 });
  });
  afterAll(async () => {
    bench.close();
    await cluster.stop();
  });

  it.each(['planned', 'sudden'] as const)('stay after a %s failover when a replica has them', async (how) => {
    const { once } = bench;
    const [held, done, free] = [`${how} held`, `${how} done`, `${how} free`];
    const claim = claimed(await once.claim(held, terms));
    await claimed(await once.claim(done, terms)).confirm('kept');
    const master = await cluster.masterOf(bench.keyOf(held));
    await cluster.untilReplicated();
    await (how === 'planned' ? cluster.failover(master) : cluster.killMaster(master));
    expect((await once.claim(held, terms)).status).toBe('in-progress');
    expect((await claim.renew()).status).toBe('renewed');
    expect((await claim.confirm('mine')).status).toBe('confirmed');
    expect(await once.claim(held, terms)).toMatchObject({ status: 'done', result: 'mine' });
    expect(await once.claim(done, terms)).toMatchObject({ status: 'done', result: 'kept' });
    expect(await once.run(free, terms, () => 'ran')).toMatchObject({ status: 'ran', confirmed: true });
  });
});
