import { Cluster, Redis } from 'ioredis';
import calculateSlot from 'cluster-key-slot';
import { defineScript, str, UnknownOutcomeError, type ScriptRegistry } from 'luanest/script-registry';
import {
  startCluster,
  startFaultProxy,
  startRedis,
  type FaultProxy,
  type RedisCluster,
  type RedisServer,
} from 'luanest/testing/servers';
import { eventually } from '../../../test/support/wait';
import { openRegistry, quiet } from './support';
import { itIoredis } from '../../../test/support/client-kind';

/** Not harmless twice: each run is in the ledger. */
const spend = defineScript({
  name: 'test.spend',
  keys: ['ledger'],
  args: { id: str },
  source: `
redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], 600000)
return 1`,
  reply: (raw: number) => raw,
});

const isEvalsha = (request: string): boolean => /evalsha/i.test(request);
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function open(client: Redis | Cluster): Promise<ScriptRegistry> {
  const registry = await openRegistry(quiet(client), { preload: 'required', deadlineMs: 15_000 }, [spend]);
  closing.push(() => (registry.close(), client.disconnect()));
  return registry;
}

async function adminOf(server: RedisServer): Promise<Redis> {
  const admin = quiet(new Redis(server.port));
  closing.push(() => admin.disconnect());
  await admin.ping();
  return admin;
}

/** A call alone and a group: all ran once, their replies were lost, and whatever came after that, nobody may deny it. */
async function expectUnknown(registry: ScriptRegistry, ledger: string, calls: number): Promise<void> {
  const outcomes = await Promise.allSettled(
    Array.from({ length: calls }, (_, i) => registry.run(spend, { keys: { ledger }, args: { id: `id-${i}` } })),
  );
  for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: expect.any(UnknownOutcomeError) });
}

describe('a call that ran and lost its reply is never called without effect, on one server', () => {
  let server: RedisServer;
  let proxy: FaultProxy;
  let admin: Redis;

  beforeAll(async () => {
    server = await startRedis();
    proxy = await startFaultProxy(server);
  });
  beforeEach(async () => {
    admin = await adminOf(server);
    await admin.flushall();
  });
  afterEach(async () => {
    const reset = quiet(new Redis(server.port));
    await reset.config('SET', 'maxmemory', '0');
    await reset.config('SET', 'min-replicas-to-write', '0');
    reset.disconnect();
  });
  afterAll(async () => {
    await proxy.stop();
    await server.stop();
  });

  const refusals: Record<string, [string, string]> = {
    OOM: ['maxmemory', '1'],
    NOREPLICAS: ['min-replicas-to-write', '1'],
  };

  it.each(Object.keys(refusals).flatMap((code) => [1, 3].map((calls) => ({ code, calls }))))(
    'the scripts are gone, and then $code ($calls calls)',
    async ({ code, calls }) => {
      const registry = await open(new Redis(proxy.port, '127.0.0.1', { retryStrategy: () => 20 }));
      const refuse = async (): Promise<void> => {
        await admin.script('FLUSH');
        await admin.config('SET', ...(refusals[code] as [string, string]));
      };
      void proxy.dropReply({ when: isEvalsha, until: eventually(ran(calls)).then(refuse) });
      await expectUnknown(registry, 'ledger', calls);
    },
  );

  itIoredis('the scripts are gone: they are loaded, and the answer is that of the second run', async () => {
    const registry = await open(new Redis(proxy.port, '127.0.0.1', { retryStrategy: () => 20 }));
    void proxy.dropReply({ when: isEvalsha, until: eventually(ran(1)).then(() => admin.script('FLUSH')) });
    expect(await registry.run(spend, { keys: { ledger: 'ledger' }, args: { id: 'id-0' } })).toBe(1);
    expect(await admin.hget('ledger', 'id-0')).toBe('2');
  });

  const ran = (calls: number) => async (): Promise<void> => expect(await admin.hlen('ledger')).toBe(calls);
});

it('a call whose master died before its answer may have run, whatever the promoted replica says', async () => {
  const master = await startRedis();
  closing.push(() => master.stop());
  const replica = await startRedis({ replicaOf: master });
  closing.push(() => replica.stop());
  const [atMaster, atReplica] = [await adminOf(master), await adminOf(replica)];
  for (const admin of [atMaster, atReplica]) await admin.config('SET', 'min-replicas-to-write', '1');
  await eventually(async () => expect(await atMaster.info('replication')).toContain('state=online'));

  // As behind a Sentinel, one address leads to the master of the moment.
  const proxy = await startFaultProxy(master);
  closing.push(() => proxy.stop());
  const registry = await open(new Redis(proxy.port, '127.0.0.1', { retryStrategy: () => 20 }));
  const promote = async (): Promise<void> => {
    await master.kill();
    await replica.promote();
    proxy.target = replica;
  };
  const replicated = async (): Promise<void> => expect(await atReplica.hlen('ledger')).toBe(3);
  // A lone call would leave before the group; as one group they share the one reply that is lost.
  const promoted = eventually(replicated).then(promote);
  void proxy.dropReply({ when: isEvalsha, until: promoted });
  await expectUnknown(registry, 'ledger', 3);
  // A client that does not send again says so when the master dies, before the replica is promoted.
  await promoted;
  expect(Object.values(await atReplica.hgetall('ledger'))).toEqual(['1', '1', '1']);
});

describe('a call that ran and lost its reply is never called without effect, on a Cluster', () => {
  let cluster: RedisCluster;
  const proxies = new Map<RedisServer, FaultProxy>();

  beforeAll(async () => {
    cluster = await startCluster({ replicas: 0 });
    for (const node of cluster.nodes) proxies.set(node, await startFaultProxy(node));
  });
  afterAll(async () => {
    for (const proxy of proxies.values()) await proxy.stop();
    await cluster.stop();
  });

  const client = (): Cluster =>
    new Cluster(cluster.startupNodes, {
      slotsRefreshTimeout: 5_000,
      clusterRetryStrategy: () => 20,
      natMap: Object.fromEntries(
        [...proxies].map(([{ host, port }, proxy]) => [`${host}:${port}`, { host, port: proxy.port }]),
      ),
    });

  const cut = (owner: RedisServer, then: () => Promise<unknown>, ledger: string, admin: Redis): void => {
    const ran = async (): Promise<void> => expect(await admin.hlen(ledger)).toBeGreaterThan(0);
    void (proxies.get(owner) as FaultProxy).dropReply({ when: isEvalsha, until: eventually(ran).then(then) });
  };

  it.each([1, 3])('the scripts are gone (%i calls)', async (calls) => {
    const ledger = `{flushed-${calls}}`;
    const owner = await cluster.masterOf(ledger);
    const admin = await adminOf(owner);
    const registry = await open(client());
    cut(owner, () => admin.script('FLUSH'), ledger, admin);
    const outcomes = await Promise.allSettled(
      Array.from({ length: calls }, (_, i) => registry.run(spend, { keys: { ledger }, args: { id: `id-${i}` } })),
    );
    expect(Math.min(...Object.values(await admin.hgetall(ledger)).map(Number))).toBeGreaterThan(0);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(UnknownOutcomeError);
    }
  });

  it.each([
    ['OOM', 'maxmemory', '1', '0'],
    ['NOREPLICAS', 'min-replicas-to-write', '1', '0'],
  ] as const)('the slot has moved, and then %s', async (code, option, refuses, allows) => {
    const ledger = `{moved-${code}}`;
    const owner = await cluster.masterOf(ledger);
    const admin = await adminOf(owner);
    const redis = client();
    const registry = await open(redis);
    const other = cluster.nodes.find((node) => node !== owner) as RedisServer;
    redis.slots[calculateSlot(ledger)] = [`${other.host}:${(proxies.get(other) as FaultProxy).port}`];
    cut(owner, () => admin.config('SET', option, refuses), ledger, admin);
    try {
      await expectUnknown(registry, ledger, 1);
    } finally {
      await admin.config('SET', option, allows);
    }
    expect(await admin.hget(ledger, 'id-0')).toBe('1');
  });
});
