import { Cluster, Redis } from 'ioredis';
import type { ReadRewardService } from 'luanest/read-reward';
import { startCluster, startRedis, type RedisServer } from 'luanest/testing/servers';
import { eventually } from '../../../test/support/wait';
import { keysOf, openBench, quiet, type Bench } from './support';

const rules = {
  read: { limit: 3, pointsPerItem: 2 },
  ever: { limit: 3, dedupe: 'ever' as const },
  total: { limit: 3, period: 'total' as const },
};
const read = (userId: string, itemId: string, rule = 'read') => ({ rule, userId, itemId });

describe('rewards when Redis fails', () => {
  let server: RedisServer;
  let admin: Redis;
  let bench: Bench;
  let rewards: ReadRewardService;

  beforeAll(async () => {
    server = await startRedis();
    admin = quiet(new Redis(server.port));
  });
  beforeEach(async () => {
    await admin.flushall();
    bench = await openBench(quiet(new Redis(server.port)), { prefix: 'faults' });
    rewards = bench.service(rules, { ledgerRetentionMs: 86_400_000, partitions: 1 });
  });
  afterEach(() => bench.close());
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  /** Keys with their contents; streams by their length. */
  const contents = async (): Promise<Record<string, unknown>> => {
    const found: Record<string, unknown> = {};
    for (const key of (await admin.keys('*')).sort()) {
      const type = await admin.type(key);
      found[key] =
        type === 'set'
          ? (await admin.smembers(key)).sort()
          : type === 'hash'
            ? await admin.hgetall(key)
            : type === 'stream'
              ? await admin.xlen(key)
              : await admin.get(key);
    }
    return found;
  };

  it('SCRIPT FLUSH between any two calls loses nothing', async () => {
    const plain = bench.service(rules, { partitions: 1 });
    for (let i = 0; i < 5; i++) {
      for (const service of [plain, rewards]) {
        await admin.script('FLUSH');
        const answer = await service.record(read('flush', `a${i}`));
        expect([answer.status, answer.used]).toEqual(
          service === rewards && i < 3 ? ['duplicate', i + 1] : [i < 3 ? 'rewarded' : 'capped', Math.min(i + 1, 3)],
        );
      }
    }
  });

  it('a full memory and a replica refuse the whole call, and calls that write nothing still work', async () => {
    const plain = bench.service(rules, { partitions: 1 });
    for (const item of ['a', 'b', 'c']) await plain.record(read('full', item));
    const before = await contents();
    await admin.config('SET', 'maxmemory', '1');
    await expect(plain.record(read('oom', 'a'))).rejects.toMatchObject({ code: 'SCRIPT_REFUSED' });
    await expect(rewards.record(read('oom', 'a'))).rejects.toMatchObject({ code: 'SCRIPT_REFUSED' });
    expect(await plain.record(read('full', 'a'))).toMatchObject({ status: 'duplicate', used: 3 });
    expect(await plain.record(read('full', 'd'))).toMatchObject({ status: 'capped', used: 3 });
    expect((await plain.status('full'))[0]).toMatchObject({ used: 3 });
    await admin.config('SET', 'maxmemory', '0');
    await admin.replicaof('127.0.0.1', '1');
    await expect(plain.record(read('replica', 'a'))).rejects.toMatchObject({ code: 'SCRIPT_REFUSED' });
    await admin.replicaof('NO', 'ONE');
    expect(await contents()).toEqual(before);
    expect(await plain.record(read('oom', 'a'))).toMatchObject({ status: 'rewarded', used: 1 });
  });

  it('a permission that is missing for one command leaves nothing half written', async () => {
    const user = 'default';
    for (const service of [bench.service(rules, { partitions: 1 }), rewards]) {
      const { grantId } = await service.record(read('acl', 'kept'));
      const before = await contents();
      for (const command of ['hset', 'pexpireat', 'xadd', 'set', 'hdel', 'srem']) {
        await admin.acl('SETUSER', user, `-${command}`);
        const wrote = [];
        if (command !== 'srem' && command !== 'hdel') {
          const operationId = service === rewards ? 'op' : undefined;
          if (service === rewards || !['set', 'xadd'].includes(command)) {
            // A first grant sets the TTL of its period. A later one only reads it, unless the other script sends it.
            wrote.push(service.record({ ...read('acl-new', 'new'), operationId }));
            if (service === rewards || command !== 'pexpireat')
              wrote.push(service.record({ ...read('acl', 'new'), operationId }));
          }
        }
        if (service === rewards || !['xadd', 'pexpireat'].includes(command)) {
          wrote.push(service.refund(grantId as string));
        }
        const ended = await Promise.allSettled(wrote);
        await admin.acl('SETUSER', user, `+${command}`);
        expect(ended.map(({ status }) => status)).toEqual(wrote.map(() => 'rejected'));
        expect({ command, ...(await contents()) }).toEqual({ command, ...before });
      }
      await admin.acl('SETUSER', user, '-sadd');
      const ended = await Promise.allSettled([service.record(read('acl', 'new', 'ever'))]);
      await admin.acl('SETUSER', user, '+sadd');
      expect(ended).toMatchObject([{ status: 'rejected' }]);
      expect(await contents()).toEqual(before);
      expect(await service.refund(grantId as string)).toMatchObject({ status: 'refunded', used: 0 });
    }
  });

  it.each([
    ['a duplicate', (service: ReadRewardService) => service.record(read('ttl', 'a'))],
    ['a capped read', (service: ReadRewardService) => service.record(read('ttl', 'd'))],
    ['a grant', (service: ReadRewardService) => service.record(read('ttl', 'b'))],
    ['a status', (service: ReadRewardService) => service.status('ttl')],
    ['a refund', async (service: ReadRewardService, id: string) => service.refund(id)],
  ] as [string, (service: ReadRewardService, grantId: string) => Promise<unknown>][])(
    'a TTL that was lost is set again at %s, with every script',
    async (name, touch) => {
      for (const service of [bench.service(rules, { partitions: 1 }), rewards]) {
        await admin.flushall();
        const { grantId } = await service.record(read('ttl', 'a'));
        if (name === 'a capped read') for (const item of ['b', 'c']) await service.record(read('ttl', item));
        const keys = await admin.keys('*');
        expect(keys.length).toBe(service === rewards ? 2 : 1);
        for (const key of keys) if (!key.endsWith('ledger') || name !== 'a status') await admin.persist(key);
        await touch(service, grantId as string);
        for (const key of keys)
          if ((await admin.exists(key)) > 0) expect([key, (await admin.pttl(key)) > 0]).toEqual([key, true]);
      }
    },
  );
});

describe('rewards over a failover', () => {
  it('keep what was granted, and go on', async () => {
    const cluster = await startCluster({ masters: 3, replicas: 1 });
    const client = quiet(new Cluster(cluster.startupNodes, { redisOptions: { maxRetriesPerRequest: null } }));
    const bench = await openBench(client, { prefix: 'failover' });
    try {
      const rewards = bench.service(rules, { partitions: 1 });
      const users = Array.from({ length: 20 }, (_, i) => `u${i}`);
      for (const userId of users) await rewards.record(read(userId, 'a'));
      const key = bench.registry.keySpace('read-reward').tag('s0').key('state', 'read', 'u0');
      const master = await cluster.masterOf(key);
      await cluster.failover(master);
      const answers = await eventually(async () =>
        Promise.all(users.map(async (userId) => rewards.record({ ...read(userId, 'b'), operationId: 'after' }))),
      );
      expect(answers.map(({ status, used }) => [status, used])).toEqual(users.map(() => ['rewarded', 2]));
      for (const userId of users)
        expect(await rewards.record(read(userId, 'a'))).toMatchObject({ status: 'duplicate' });
      // The client may hear a little later who the masters are.
      await eventually(async () => expect(await keysOf(client, 'failover')).toHaveLength(users.length * 2));
    } finally {
      bench.close();
      await cluster.stop();
    }
  });
});
