import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Cluster, Redis } from 'ioredis';
import calculateSlot from 'cluster-key-slot';
import { ScriptRegistryEvents, type ScriptRegistry } from 'luanest/script-registry';
import { startCluster, type RedisCluster, type RedisServer } from 'luanest/testing/servers';
import { isIoredis } from '../../../test/support/client-kind';
import { eventually } from '../../../test/support/wait';
import { countOnce, openRegistry, quiet } from './support';

const TAGS = Array.from({ length: 12 }, (_, i) => `tag-${i}`);
const keysOf = (tag: string): { counter: string; tokens: string } => ({
  counter: `{${tag}}:counter`,
  tokens: `{${tag}}:tokens`,
});

describe('faults between a registry and a Cluster', () => {
  let cluster: RedisCluster;
  let client: Cluster;
  let registry: ScriptRegistry;
  let unique = 0;

  beforeAll(async () => {
    cluster = await startCluster();
  });
  beforeEach(async () => {
    await onAll((redis) => redis.flushall().catch(() => undefined));
    client = quiet(new Cluster(cluster.startupNodes, { slotsRefreshTimeout: 5_000, clusterRetryStrategy: () => 50 }));
    registry = await openRegistry(client, { preload: 'required' });
  });
  afterEach(() => {
    registry.close();
    client.disconnect();
  });
  afterAll(() => cluster.stop());

  async function onAll<T>(work: (redis: Redis, server: RedisServer) => Promise<T>): Promise<T[]> {
    return Promise.all(
      cluster.nodes
        .filter((server) => server.live)
        .map(async (server) => {
          const redis = quiet(new Redis(server.port));
          try {
            return await work(redis, server);
          } finally {
            redis.disconnect();
          }
        }),
    );
  }

  const run = (
    tag: string,
    token = `t${unique++}`,
    deadlineMs = 20_000,
  ): Promise<{ count: number; replayed: boolean }> =>
    registry.run(countOnce, { keys: keysOf(tag), args: { token } }, { deadlineMs });

  const shas = (): string[] => (registry as unknown as { loader: { shas: string[] } }).loader.shas;

  it('has its scripts on every node after boot, replicas too', async () => {
    // Boot waits for a slow replica for a second only.
    await eventually(async () => {
      const present = await onAll((redis) => redis.script('EXISTS', ...shas()));
      expect(present).toHaveLength(6);
      for (const flags of present) expect(flags).toEqual(shas().map(() => 1));
    });
  });

  it('never mixes slots in a group', async () => {
    const groups: number[] = [];
    // Registries of earlier test files, whose objects have another Object, may still send.
    const listener = (message: unknown): void => {
      if (message instanceof Object) groups.push((message as ScriptRegistryEvents['groupSent']).calls);
    };
    await onAll((redis) => redis.config('RESETSTAT'));
    subscribe(ScriptRegistryEvents.groupSent, listener);
    await Promise.all(Array.from({ length: 1_200 }, (_, i) => run(TAGS[i % TAGS.length] as string)));
    unsubscribe(ScriptRegistryEvents.groupSent, listener);
    expect(groups.length).toBeLessThan(600);
    // A server refuses keys of two slots; no group was ever refused, nor sent again singly.
    const stats = await onAll((redis) => redis.info('everything'));
    for (const info of stats) expect(info).not.toMatch(/errorstat_(CROSSSLOT|MOVED)/);
    const evalshas = stats.reduce((sum, info) => sum + Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1] ?? 0), 0);
    expect(evalshas).toBe(groups.length);
  });

  it('SCRIPT FLUSH amid 1,000 concurrent calls: no error, each effect once, at most one load per node and flush', async () => {
    await onAll((redis) => redis.config('RESETSTAT'));
    const admins = await Promise.all(
      cluster.nodes.map(async (server) => {
        const redis = quiet(new Redis(server.port));
        await redis.ping();
        return redis;
      }),
    );
    const flushes: Promise<unknown>[] = [];
    const runs = Array.from({ length: 1_000 }, (_, i) => {
      if (i === 100) flushes.push(...admins.map((admin) => admin.script('FLUSH')));
      return run(TAGS[i % TAGS.length] as string);
    });
    await Promise.all([...runs, ...flushes]);
    await Promise.all(TAGS.map((tag) => run(tag)));
    const values = await Promise.all(TAGS.map((tag) => client.get(keysOf(tag).counter)));
    expect(values.reduce((sum, value) => sum + Number(value), 0)).toBe(1_000 + TAGS.length);
    const loads = await onAll(async (redis) =>
      Number(/cmdstat_script\|load:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0),
    );
    expect(Math.max(...loads)).toBe(shas().length);
    const evals = await onAll((redis) => redis.info('commandstats'));
    for (const info of evals) expect(info).not.toMatch(/cmdstat_eval:/);
    for (const admin of admins) admin.disconnect();
  });

  async function firstCallIsOneEvalsha(promoted: RedisServer, tag: string): Promise<void> {
    const probe = quiet(new Redis(promoted.port));
    await eventually(() => expect(client.slots[calculateSlot(tag)]?.[0]).toBe(`${promoted.host}:${promoted.port}`), {
      timeoutMs: 20_000,
    });
    // The registry hears of the new master in its own time, and loads what that may lack.
    const loads = async (): Promise<string> =>
      /cmdstat_script\|load:calls=\d+/.exec(await probe.info('commandstats'))?.[0] ?? '';
    await eventually(async () => {
      const before = await loads();
      // It looks again half a second after a change.
      await new Promise((resolve) => setTimeout(resolve, 900));
      expect(await loads()).toBe(before);
    });
    await probe.config('RESETSTAT');
    await run(tag);
    const stats = await probe.info('commandstats');
    expect(stats).toMatch(/cmdstat_evalsha:calls=1,.*failed_calls=0/);
    expect(stats).not.toMatch(/cmdstat_eval:/);
    // node-redis may hear of the new master with this call only. Then the scripts are loaded at the same time.
    if (isIoredis) expect(stats).not.toMatch(/cmdstat_script\|load/);
    probe.disconnect();
  }

  it('after a planned failover the first call on the promoted node is one EVALSHA that succeeds', async () => {
    const tag = TAGS[0] as string;
    const promoted = await cluster.failover(await cluster.masterOf(tag));
    // A Cluster client learns of a planned failover at its next refresh, or by MOVED.
    client.refreshSlotsCache();
    await firstCallIsOneEvalsha(promoted, tag);
  });

  it('a planned failover under load with resending off: the process lives, and no answer is false', async () => {
    const tag = TAGS[3] as string;
    const plain = quiet(
      new Cluster(cluster.startupNodes, {
        slotsRefreshTimeout: 5_000,
        clusterRetryStrategy: () => 50,
        redisOptions: { autoResendUnfulfilledCommands: false },
      }),
    );
    const own = await openRegistry(plain, { preload: 'required' });
    const outcomes = new Map<string, string>();
    let over = false;
    const load = Array.from({ length: 20 }, async (_, worker) => {
      for (let i = 0; !over; i++) {
        const token = `${worker}-${i}`;
        const outcome = await own.run(countOnce, { keys: keysOf(tag), args: { token } }, { deadlineMs: 15_000 }).then(
          ({ replayed }) => (replayed ? 'replayed' : 'done'),
          (error: { code: string }) => error.code,
        );
        outcomes.set(token, outcome);
      }
    });
    try {
      await eventually(() => expect(outcomes.size).toBeGreaterThan(200));
      // Calls are redirected to the new master, and the routed ones meet an error there, too.
      await onAll((redis) => redis.script('FLUSH'));
      await cluster.failover(await cluster.masterOf(tag));
      const before = outcomes.size;
      await eventually(() => expect(outcomes.size).toBeGreaterThan(before + 200), { timeoutMs: 20_000 });
    } finally {
      over = true;
      await Promise.all(load);
      own.close();
      plain.disconnect();
    }
    const tokens = new Set(await client.hkeys(keysOf(tag).tokens));
    for (const [token, outcome] of outcomes) {
      if (outcome === 'done') expect(tokens).toContain(token);
      // Nothing is sent twice, so no call can meet its own first run.
      else expect(outcome).toMatch(/^(NOT_SENT|SCRIPT_REFUSED|UNKNOWN_OUTCOME)$/);
      if (/^(NOT_SENT|SCRIPT_REFUSED)$/.test(outcome)) expect(tokens).not.toContain(token);
    }
  });

  it('a slot that migrates under load loses and doubles nothing', async () => {
    const tag = TAGS[1] as string;
    const slot = calculateSlot(tag);
    const from = await cluster.masterOf(slot);
    const to = (await cluster.masters()).find((master) => master !== from) as RedisServer;
    const counts: number[] = [];
    let stop = false;
    const load = Array.from({ length: 40 }, async () => {
      while (!stop) counts.push((await run(tag)).count);
    });
    await eventually(() => expect(counts.length).toBeGreaterThan(200));
    await cluster.beginMigration(slot, from, to);
    // One of the two keys has moved: until the other follows, every call gets TRYAGAIN.
    await cluster.migrateKeys(slot, from, to, 1);
    await new Promise((resolve) => setTimeout(resolve, 150));
    await cluster.migrateKeys(slot, from, to);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await cluster.finishMigration(slot, from, to);
    const before = counts.length;
    await eventually(() => expect(counts.length).toBeGreaterThan(before + 200));
    stop = true;
    await Promise.all(load);
    expect(new Set(counts).size).toBe(counts.length);
    expect(await client.get(keysOf(tag).counter)).toBe(String(counts.length));
    expect(await client.hlen(keysOf(tag).tokens)).toBe(counts.length);
  });

  it('after a kill -9 of a master under load, calls go on, and the first on the promoted node is one EVALSHA', async () => {
    const tag = TAGS[2] as string;
    const master = await cluster.masterOf(tag);
    let stop = false;
    const outcomes = { done: 0, unknown: 0 };
    const load = Array.from({ length: 10 }, async (_, worker) => {
      for (let i = 0; !stop; i++) {
        await run(tag, `${worker}-${i}`, 15_000).then(
          () => (outcomes.done += 1),
          (error: unknown) => {
            expect(error).toMatchObject({ code: expect.stringMatching(/UNKNOWN_OUTCOME|NOT_SENT/) });
            outcomes.unknown += 1;
          },
        );
      }
    });
    await eventually(() => expect(outcomes.done).toBeGreaterThan(100));
    const promoted = await cluster.killMaster(master);
    const before = outcomes.done;
    await eventually(() => expect(outcomes.done).toBeGreaterThan(before + 100), { timeoutMs: 20_000 });
    stop = true;
    await Promise.all(load);
    // No token ran twice on the node that is left: the counter is the number of tokens.
    expect(Number(await client.get(keysOf(tag).counter))).toBe(await client.hlen(keysOf(tag).tokens));
    await firstCallIsOneEvalsha(promoted, tag);
    await master.restart();
    await cluster.untilSettled();
  });
});
