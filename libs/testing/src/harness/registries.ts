import type { Redis } from 'ioredis';
import { nextTurn } from '../../../internal/src';
import {
  type AnyClient,
  connectIoredis,
  isIoredis,
  type RedisConnection,
  type ReplaceRedis,
} from '../../../script-registry/src/internal';
import type { TestClock } from '../clock/test-clock';
import type { ArmedFaults } from '../faults/faults';
import { MemoryRedis } from '../../../memory-redis/src';
import { MemoryConnection } from './memory-connection';

const DEFAULT = 'default';
/** Longest deadline of calls while Redis is down, ms of real time. In production, calls would wait for seconds. */
const DOWN_DEADLINE_MS = 20;

/** The in-memory servers of an app: one for each of its ScriptRegistries, or one for all. */
export class Registries {
  private readonly servers = new Map<string, MemoryRedis>();
  private readonly clients: Redis[] = [];

  /** @param shared server for all ScriptRegistries, which other apps may use as well. Default: one server for each */
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

  /**
   * Connects a ScriptRegistry to an in-memory server. A client of ioredis that the app has created is connected to it as well, for the
   * app's own commands. Any other client of the app is closed.
   */
  readonly replace: ReplaceRedis = async (registry, clientOfApp) => {
    const server = this.serverOf(registry);
    const given = clientOfApp();
    const connection = isMovable(given) ? await this.adopt(given, server) : new MemoryConnection(server);
    if (given && !isMovable(given)) closeClient(given);
    this.faults.inject(registry, connection);
    const deadlineMs = (own: number): number => (server.stopped ? Math.min(own, DOWN_DEADLINE_MS) : own);
    return { connection, deadlineMs };
  };

  stop(): void {
    for (const server of this.all) server.stop();
  }

  /** Starts the servers. Resolves when all clients that were connected before are connected again. */
  async start(): Promise<void> {
    for (const server of this.all) server.start();
    await Promise.all(this.clients.map((client) => connected(client)));
  }

  private get all(): readonly MemoryRedis[] {
    return this.shared ? [this.shared] : [...this.servers.values()];
  }

  private async adopt(client: Redis, server: MemoryRedis): Promise<RedisConnection> {
    // A client that was just created gets its socket later in this turn of the event loop, and that socket must be closed.
    await new Promise<void>((resolve) => void nextTurn(resolve));
    server.adopt(client);
    this.clients.push(client);
    return connectIoredis(client);
  }
}

function isMovable(client: AnyClient | undefined): client is Redis {
  return isIoredis(client) && !client.isCluster;
}

function closeClient(client: AnyClient): void {
  try {
    if (isIoredis(client)) client.disconnect();
    else if ('destroy' in client) (client as { destroy: () => void }).destroy();
    else if ('close' in client) client.close();
  } catch {
    // The client was closed already.
  }
}

function connected(client: Redis): Promise<unknown> {
  if (['ready', 'wait', 'end'].includes(client.status)) return Promise.resolve();
  return new Promise((resolve) => client.once('ready', resolve));
}
