import type { Cluster, Redis } from 'ioredis';
import { nextTurn } from '../../../internal/src';
import { connectIoredis, type ReplaceRedis } from '../../../script-registry/src/internal';
import type { TestClock } from '../clock/test-clock';
import type { ArmedFaults } from '../faults/faults';
import { MemoryRedis } from '../../../memory-redis/src';

const DEFAULT = 'default';
/** Pause of own clients before they connect again, ms. */
const RECONNECT_MS = 1;
/** Longest deadline of calls while Redis is down, ms. They wait for Redis as in production, but not for seconds. */
const DOWN_DEADLINE_MS = 20;

/** The in-memory servers of an app: one for each of its ScriptRegistries, or one for all. */
export class Registries {
  private readonly servers = new Map<string, MemoryRedis>();
  private readonly clients: Redis[] = [];

  /** @param shared server of all ScriptRegistries, which other apps may use, too. Default: one for each */
  constructor(
    private readonly clock: TestClock,
    private readonly faults: ArmedFaults,
    private readonly shared?: MemoryRedis,
  ) {}

  serverOf(registry = DEFAULT): MemoryRedis {
    if (this.shared) return this.shared;
    const known = this.servers.get(registry);
    if (known) return known;
    const server = new MemoryRedis({ clock: this.clock });
    this.servers.set(registry, server);
    return server;
  }

  /** Gives a ScriptRegistry an in-memory server. A client that the app made is moved to it; one of a Cluster is disconnected. */
  readonly replace: ReplaceRedis = async (registry, clientOfApp) => {
    const server = this.serverOf(registry);
    const given = clientOfApp();
    const isMovable = given !== undefined && !isCluster(given);
    if (given && !isMovable) given.disconnect();
    const client = isMovable ? await this.adopt(given, server) : ownClient(server);
    const connection = connectIoredis(client);
    this.clients.push(client);
    this.faults.inject(registry, connection);
    const deadlineMs = (own: number): number => (server.stopped ? Math.min(own, DOWN_DEADLINE_MS) : own);
    return { connection, end: isMovable ? undefined : () => end(client), deadlineMs };
  };

  stop(): void {
    for (const server of this.all) server.stop();
  }

  /** Resolves when all clients are connected that have begun to connect and were not ended. */
  async start(): Promise<void> {
    for (const server of this.all) server.start();
    await Promise.all(this.clients.map((client) => connected(client)));
  }

  private get all(): readonly MemoryRedis[] {
    return this.shared ? [this.shared] : [...this.servers.values()];
  }

  private async adopt(client: Redis, server: MemoryRedis): Promise<Redis> {
    // A client that was just made has no socket yet that could be closed.
    await new Promise<void>((resolve) => void nextTurn(resolve));
    server.adopt(client);
    return client;
  }
}

function isCluster(client: Redis | Cluster): client is Cluster {
  return client.isCluster;
}

function ownClient(server: MemoryRedis): Redis {
  // Replies that are lost are reported at once, and not after their deadline.
  const client = server.client({
    lazyConnect: true,
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => RECONNECT_MS,
  });
  // The errors while the server is stopped.
  client.on('error', () => undefined);
  return client;
}

function connected(client: Redis): Promise<unknown> {
  if (['ready', 'wait', 'end'].includes(client.status)) return Promise.resolve();
  return new Promise((resolve) => client.once('ready', resolve));
}

async function end(client: Redis): Promise<void> {
  if (client.status === 'ready') await client.quit().catch(() => undefined);
  client.disconnect();
}
