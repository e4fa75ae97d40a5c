import { type Address, withAdmin } from './admin';
import { TestServerError } from './errors';
import { reportFault } from './fault-channel';
import { freePort } from './free-port';
import { RedisServer, type ServerSettings } from './redis-server';
import { eventually } from './wait';

const NAME = 'mymaster';
/** How long a server may be silent before a Sentinel considers it down, ms. */
const DOWN_AFTER_MS = 500;
const PATIENCE = { timeoutMs: 60_000 };

/** Size of a {@link RedisSentinel}. */
export interface SentinelShape {
  readonly replicas: number;
  readonly sentinels: number;
}

/** A master and its replicas on 127.0.0.1, with Sentinels that do failovers. {@link startSentinel} starts them. */
export class RedisSentinel implements AsyncDisposable {
  /** Name of the master, for `new Redis({ sentinels, name })` of ioredis. */
  readonly name = NAME;

  private constructor(
    /** The Redis servers. The server that was the master at the start comes first, then the others. */
    readonly nodes: readonly RedisServer[],
    private readonly watchers: readonly RedisServer[],
  ) {}

  /** Starts the servers. Use {@link startSentinel} instead: it checks the options. */
  static async start(shape: SentinelShape, settings: ServerSettings): Promise<RedisSentinel> {
    const started: RedisServer[] = [];
    const start = async (of: ServerSettings): Promise<RedisServer> => {
      const server = await RedisServer.start(of, { pick: freePort });
      started.push(server);
      return server;
    };
    try {
      const master = await start(settings);
      const followers = Array.from({ length: shape.replicas }, () => start({ ...settings, replicaOf: master }));
      const nodes = [master, ...(await everyOne(followers))];
      const sentinel = sentinelOf(shape, master);
      const watching = Array.from({ length: shape.sentinels }, () => start({ ...settings, args: [], sentinel }));
      const group = new RedisSentinel(nodes, await everyOne(watching));
      await group.#untilWatched();
      return group;
    } catch (error) {
      await Promise.all(started.map((server) => server.stop()));
      throw error;
    }
  }

  /** Addresses of the Sentinels, for `new Redis({ sentinels, name })` of ioredis. */
  get sentinels(): Address[] {
    return this.watchers.map(({ host, port }) => ({ host, port }));
  }

  /** Asks the first live Sentinel which server is the master. */
  async master(): Promise<RedisServer> {
    const port = await this.#masterPort(this.#firstWatcher());
    const server = this.nodes.find((node) => node.port === port);
    if (!server)
      throw new TestServerError(
        `A Sentinel reports port ${port} as the master, but no server of this RedisSentinel has that port.`,
      );
    return server;
  }

  /**
   * Kills the master with SIGKILL. Writes that the promoted replica does not have are lost. Resolves with this replica when all
   * Sentinels name it, usually after one to ten seconds.
   */
  async killMaster(): Promise<RedisServer> {
    const master = await this.master();
    reportFault('failovers');
    await master.kill();
    return this.#untilPromoted(master);
  }

  /** Makes a failover while all servers run (SENTINEL FAILOVER). Resolves with the new master when all Sentinels name it. */
  async failover(): Promise<RedisServer> {
    const master = await this.master();
    reportFault('failovers');
    await withAdmin(this.#firstWatcher(), (admin) => admin.call('SENTINEL', 'FAILOVER', this.name));
    return this.#untilPromoted(master);
  }

  /** Ends all servers and removes their temporary directories. May be called any number of times. */
  async stop(): Promise<void> {
    await Promise.all(this.watchers.map((server) => server.stop())); // The Sentinels end first, or they would start a failover.
    await Promise.all(this.nodes.map((server) => server.stop()));
  }

  /** The same as `stop()`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #untilPromoted(before: RedisServer): Promise<RedisServer> {
    return eventually(async () => {
      const ports = await Promise.all(this.watchers.map((watcher) => this.#masterPort(watcher)));
      const next = this.nodes.find(({ port }) => port === ports[0]);
      if (!next || next === before || new Set(ports).size > 1)
        throw new TestServerError('RedisSentinel: Not all Sentinels report the same new master yet.');
      const info = await withAdmin(next, (admin) => admin.info('replication'));
      if (!info.includes('role:master'))
        throw new TestServerError('RedisSentinel: The replica that was promoted is not a master yet.');
      return next;
    }, PATIENCE);
  }

  /**
   * Waits until each Sentinel knows all replicas and all other Sentinels, and has read the INFO of each replica. Otherwise it would not
   * promote that replica.
   */
  async #untilWatched(): Promise<void> {
    const check = (watcher: RedisServer): Promise<void> =>
      withAdmin(watcher, async (admin) => {
        const replicas = (await admin.call('SENTINEL', 'REPLICAS', this.name)) as string[][];
        const usable = replicas.filter((fields) => fields[fields.indexOf('master-link-status') + 1] === 'ok');
        const others = (await admin.call('SENTINEL', 'SENTINELS', this.name)) as unknown[];
        const complete = usable.length === this.nodes.length - 1 && others.length === this.watchers.length - 1;
        if (!complete) throw new TestServerError(`The Sentinel on port ${watcher.port} does not know all servers yet.`);
      });
    await eventually(() => Promise.all(this.watchers.map(check)), PATIENCE);
  }

  async #masterPort(watcher: RedisServer): Promise<number> {
    const [, port] = await withAdmin(
      watcher,
      (admin) => admin.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', this.name) as Promise<[string, string]>,
    );
    return Number(port);
  }

  #firstWatcher(): RedisServer {
    const watcher = this.watchers.find(({ live }) => live);
    if (!watcher) throw new TestServerError('RedisSentinel: No Sentinel is alive.');
    return watcher;
  }
}

/** Returns the configuration of a Sentinel. A majority of the Sentinels must agree that the master is down. */
function sentinelOf({ sentinels }: SentinelShape, { host, port }: Address): string[] {
  return [
    `sentinel monitor ${NAME} ${host} ${port} ${Math.floor(sentinels / 2) + 1}`,
    `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${NAME} 5000`,
  ];
}

/** Waits for all servers to start, even if one fails, so that the caller can stop those that have started. */
async function everyOne(starting: readonly Promise<RedisServer>[]): Promise<RedisServer[]> {
  await Promise.allSettled(starting);
  return Promise.all(starting);
}
