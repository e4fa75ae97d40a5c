import { Redis, type RedisOptions } from 'ioredis';
import { processClock, type Clock } from './clock';
import { connectorTo } from './connection/connector';
import type { Snapshot } from './keyspace';
import { Server } from './server';

export interface MemoryRedisOptions {
  /** Time of the server. Default: the time of the process. */
  readonly clock?: Clock;
}

/**
 * A Redis server in this process. It runs the real Lua scripts, and clients of ioredis connect to it without a port.
 *
 * It has one database, no replicas and no Cluster, and keeps its keys until the process ends.
 */
export class MemoryRedis {
  readonly server: Server;
  private readonly connector: ReturnType<typeof connectorTo>;

  constructor({ clock = processClock }: MemoryRedisOptions = {}) {
    this.server = new Server(clock);
    this.connector = connectorTo(this.server);
  }

  /** Options for `new Redis()` of ioredis 5 or 6, with which a client connects to this server. */
  get clientOptions(): Pick<RedisOptions, 'Connector'> {
    // The type of ioredis is an abstract class with private fields, of which it calls these methods only.
    return { Connector: this.connector as unknown as NonNullable<RedisOptions['Connector']> };
  }

  /** Returns a client of ioredis that is connected to this server. The caller ends it with `disconnect()`. */
  client(options: RedisOptions = {}): Redis {
    return new Redis({ ...options, ...this.clientOptions });
  }

  /** Remembers all keys as they are now. Takes microseconds for any number of keys. */
  snapshot(): Snapshot {
    return this.server.db.snapshot();
  }

  /** Returns all keys to what they were at a snapshot. @throws RangeError if an earlier snapshot was restored since */
  restore(snapshot: Snapshot): void {
    this.server.db.restore(snapshot);
  }
}
