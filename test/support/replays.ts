import { Cluster, Redis } from 'ioredis';
import { startCluster, startFaultProxy, startRedis } from 'luanest/testing/servers';
import { quiet } from '../../libs/script-registry/test/support';
import type { ScriptRegistry } from 'luanest/script-registry';
import { withAdmin } from './admin';
import { isIoredis } from './client-kind';
import { sleep } from './wait';

/** Parts of a lib's test setup that run its scripts twice. */
export interface ReplayBench {
  readonly registry: ScriptRegistry;
  readonly raw: Redis;
  close(): Promise<void>;
}

/** Two setups that use the same keys, and a way to make a script run twice with the same arguments. */
export interface Replays<B extends ReplayBench> {
  readonly direct: B;
  /** Setup whose next script runs twice while `twice` runs. */
  readonly replayed: B;
  /** Names of the scripts that ran twice. */
  readonly seen: ReadonlySet<string>;
  /**
   * Runs `work`. The next script of `replayed` then runs twice with the same arguments, and `work` gets the second reply.
   *
   * @param between runs between the two runs of the script
   * @returns the result of `work`
   */
  twice<T>(work: () => Promise<T>, between?: () => Promise<unknown>): Promise<T>;
  clear(): Promise<void>;
  close(): Promise<void>;
}

type OpenBench<B> = (client: Redis | Cluster) => Promise<B>;

/** Makes scripts run twice on a single server: cuts the connection before the reply, so that ioredis sends the command again. */
export async function lostReplies<B extends ReplayBench>(open: OpenBench<B>): Promise<Replays<B>> {
  const server = await startRedis();
  const proxy = await startFaultProxy(server);
  const direct = await open(quiet(new Redis(server.port)));
  const replayed = await open(quiet(new Redis(proxy.port)));
  const seen = new Set<string>();
  let watching = false;
  const { registry } = replayed;
  const run = registry.run.bind(registry);
  registry.run = (script, input, options) => {
    if (watching) seen.add(script.name);
    watching = false;
    return run(script, input, options);
  };
  const runs = async (): Promise<number> =>
    Number(/cmdstat_evalsha:calls=(\d+)/.exec(await direct.raw.info('commandstats'))?.[1] ?? 0);
  return {
    direct,
    replayed,
    seen,
    async twice(work, between) {
      const before = await runs();
      const when = (request: string): boolean => /evalsha/i.test(request);
      let goOn = (): void => undefined;
      const until = between && new Promise<void>((resolve) => (goOn = resolve));
      const cut = proxy.dropReply({ when, until });
      watching = true;
      const answer = work();
      try {
        while (between && (await runs()) === before) await sleep(2);
        await between?.();
      } finally {
        goOn();
      }
      await Promise.all([answer, cut]);
      if (between) expect(await runs()).toBeGreaterThan(before + 2);
      else expect(await runs()).toBe(before + 2);
      return answer;
    },
    clear: async () => void (await direct.raw.flushdb()),
    async close() {
      await Promise.all([direct.close(), replayed.close()]);
      await proxy.stop();
      await server.stop();
    },
  };
}

/** Repeats calls that were not sent, because a client may need a moment to connect to a new master. */
function sendsAgain(registry: ScriptRegistry): void {
  const run = registry.run.bind(registry);
  registry.run = async (script, input, options) => {
    const untilMs = performance.now() + 10_000;
    for (;;) {
      try {
        return await run(script, input, options);
      } catch (error) {
        if ((error as { code?: string }).code !== 'NOT_SENT' || performance.now() > untilMs) throw error;
        await sleep(20);
      }
    }
  };
}

/** Makes scripts run twice on a Cluster: a failover changes the master of the keys between the two runs. */
export async function failovers<B extends ReplayBench>(open: OpenBench<B>): Promise<Replays<B>> {
  const cluster = await startCluster();
  const client = (): Cluster => quiet(new Cluster(cluster.startupNodes, { slotsRefreshTimeout: 5_000 }));
  const [direct, replayed] = [await open(client()), await open(client())];
  const seen = new Set<string>();
  let between: (() => Promise<unknown>) | undefined;
  for (const { registry } of [direct, replayed]) sendsAgain(registry);
  const { registry } = replayed;
  const run = registry.run.bind(registry);
  registry.run = async (script, input, options) => {
    if (between === undefined) return run(script, input, options);
    const meanwhile = between;
    between = undefined;
    seen.add(script.name);
    await run(script, input, options);
    await meanwhile();
    const master = await cluster.masterOf(
      [Object.values<string | readonly string[]>(input.keys)[0]].flat()[0] as string,
    );
    expect(await cluster.takeOver(master)).not.toBe(master);
    return run(script, input, options);
  };
  return {
    direct,
    replayed,
    seen,
    async twice(work, meanwhile = () => Promise.resolve()) {
      between = meanwhile;
      const answer = await work();
      expect(between).toBeUndefined();
      return answer;
    },
    clear: async () => {
      for (const master of await cluster.masters()) await withAdmin(master, (admin) => admin.flushdb());
    },
    async close() {
      await Promise.all([direct.close(), replayed.close()]);
      await cluster.stop();
    },
  };
}

/** Causes of a second run of a script, for `describe.each`. */
export const REPLAYS = [
  ...(isIoredis ? [['a reply that is lost, after which the client sends again', lostReplies] as const] : []),
  ['a failover between a call and the same call again', failovers] as const,
];
