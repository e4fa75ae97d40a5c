/* eslint-disable-next-line @typescript-eslint/ban-ts-comment -- the comment is kept in the published types */
/** @ts-ignore -- ioredis is optional. In an app without it, these types are any. */
import type { Redis, RedisOptions } from 'ioredis';
import { clientReply, fromBytes, toBuffer, toBytes } from './client-reply';
import { processClock, type Clock } from './clock';
import { moveClient } from './connection/client-mover';
import { connectorTo } from './connection/connector';
import { type DirectEvents, DirectLink } from './connection/direct-link';
import { Listener } from './connection/listener';
import { Server, type ServerState } from './server';
import { Session } from './session';

/** Options of MemoryRedis. */
export interface MemoryRedisOptions {
  /** Clock from which the server reads the time. Default: the clock of this process. */
  readonly clock?: Clock;
}

/** An argument of a command: a string, which is sent as UTF-8, a number, or bytes. */
export type CommandArgument = string | number | Buffer;

/** A saved state of a MemoryRedis, for `restore()`. It is freed like any other object when nothing refers to it. */
export interface Snapshot {
  /** For luanest only. */
  readonly state: ServerState;
}

/**
 * A Redis server inside this process. It runs Lua scripts as a Redis server does. Clients of ioredis connect to it without a port.
 *
 * The server has one database. It has no replicas, no Cluster and no persistence: its keys are lost with this object.
 */
export class MemoryRedis {
  readonly server: Server;
  private readonly listener: Listener;
  private readonly connector: ReturnType<typeof connectorTo>;
  /** Session for the commands of `run()` and `runBuffer()`. It is not counted as a connected client. */
  private readonly direct = new Session(
    0,
    () => undefined,
    () => undefined,
  );

  constructor({ clock = processClock }: MemoryRedisOptions = {}) {
    this.server = new Server(clock);
    this.listener = new Listener(this.server);
    this.connector = connectorTo(this.listener);
  }

  /** Options for `new Redis()` of ioredis 5 or 6. A client with these options connects to this server. */
  get clientOptions(): Pick<RedisOptions, 'Connector'> {
    // The types of ioredis expect an abstract class with private fields here, but ioredis calls only the methods that this class has.
    return { Connector: this.connector as unknown as NonNullable<RedisOptions['Connector']> };
  }

  /** Returns a new client of ioredis that connects to this server. The caller must close it with `disconnect()`. */
  client(options: RedisOptions = {}): Redis {
    // ioredis is loaded only here, because an app that does not call this method need not install it.
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- see above
    const ioredis = require('ioredis') as typeof import('ioredis');
    return new ioredis.Redis({ ...options, ...this.clientOptions });
  }

  /** Opens a connection without a Redis client. @throws Error while the server is stopped */
  link(on: DirectEvents): DirectLink {
    if (this.stopped) throw new Error('The server is stopped.');
    return new DirectLink(this.server, this.listener, on);
  }

  /** Calls `started` at the next `start()`, once. @returns a function that cancels this */
  onStart(started: () => void): () => void {
    return this.listener.onStart(started);
  }

  /**
   * Connects an existing client of ioredis to this server, for example one that another part of the app has created. The current connection
   * of the client is closed. The client then connects to this server, and keeps its listeners and its pending commands. The options for the
   * database, the user and the password are dropped. `retryStrategy` is replaced by a pause of 1 ms.
   */
  adopt(client: Redis): void {
    moveClient(client, this.connector);
  }

  /**
   * Closes all connections, and refuses new ones until `start()`. Keeps all keys. Clients cannot know if their calls in flight were
   * executed.
   */
  stop(): void {
    this.listener.stop();
  }

  /** True after `stop()`, until `start()`. */
  get stopped(): boolean {
    return this.listener.isStopped;
  }

  /** Accepts connections again after `stop()`. A client reconnects after the pause that its `retryStrategy` returns. */
  start(): void {
    this.listener.start();
  }

  /**
   * Runs a command at once, without a client: `run('EVALSHA', [sha, 1, 'key', 'arg'])`.
   *
   * @returns the reply as a client of ioredis with RESP2 returns it, but without the conversions that ioredis has for some commands:
   *   HGETALL returns an array, not an object. If a command of a transaction failed, the array of EXEC has an Error with the name
   *   `ReplyError` for it
   * @throws an Error with the name `ReplyError` if Redis replies with an error
   */
  run(command: string, args: readonly CommandArgument[] = []): unknown {
    return this.execute(command, args, fromBytes);
  }

  /** Runs a command as `run()` does, but returns a Buffer for each string of the reply. */
  runBuffer(command: string, args: readonly CommandArgument[] = []): unknown {
    return this.execute(command, args, toBuffer);
  }

  /**
   * Saves the state of the server: all keys with their expiry times, the loaded scripts, and the state of the random numbers, from which
   * commands such as SPOP choose. A snapshot does not include the clock, the connections, or their subscriptions and transactions.
   *
   * This takes the same time for any number of keys. After a snapshot, the first change of each value copies the value.
   */
  snapshot(): Snapshot {
    return { state: this.server.save() };
  }

  /**
   * Restores a snapshot of this server. You can restore snapshots in any order, and each one many times. The time that this takes grows
   * with the number of keys that were changed between the snapshot and now.
   *
   * @throws RangeError if the snapshot is of another server
   */
  restore(snapshot: Snapshot): void {
    this.server.restore(snapshot.state);
  }

  private execute(command: string, args: readonly CommandArgument[], textOf: (bytes: string) => unknown): unknown {
    const reply = clientReply(this.server.execute(this.direct, [toBytes(command), ...args.map(toBytes)]), textOf);
    if (reply instanceof Error) throw reply;
    return reply;
  }
}
