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
  /** Time of the server. Default: the time of the process. */
  readonly clock?: Clock;
}

/** An argument of a command: text, which is written as UTF-8, a number, or bytes. */
export type CommandArgument = string | number | Buffer;

/** A state of a MemoryRedis, for `restore()`. It needs no release: it is collected when nothing refers to it. */
export interface Snapshot {
  /** Used by luanest itself, not by users. */
  readonly state: ServerState;
}

/**
 * A Redis server in this process. It runs the real Lua scripts, and clients of ioredis connect to it without a port.
 *
 * It has one database, no replicas and no Cluster, and keeps its keys until nothing refers to it.
 */
export class MemoryRedis {
  readonly server: Server;
  private readonly listener: Listener;
  private readonly connector: ReturnType<typeof connectorTo>;
  /** Session of `run()`. It is not one of the server's connections. */
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

  /** Options for `new Redis()` of ioredis 5 or 6, with which a client connects to this server. */
  get clientOptions(): Pick<RedisOptions, 'Connector'> {
    // The type of ioredis is an abstract class with private fields, of which it calls these methods only.
    return { Connector: this.connector as unknown as NonNullable<RedisOptions['Connector']> };
  }

  /** Returns a client of ioredis that connects to this server. The caller ends it with `disconnect()`. */
  client(options: RedisOptions = {}): Redis {
    // Loaded here, so that this lib works without ioredis for those who do not call it.
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- see above
    const ioredis = require('ioredis') as typeof import('ioredis');
    return new ioredis.Redis({ ...options, ...this.clientOptions });
  }

  /** Opens a connection without a client. @throws Error while the server is stopped */
  link(on: DirectEvents): DirectLink {
    if (this.stopped) throw new Error('The server is stopped.');
    return new DirectLink(this.server, this.listener, on);
  }

  /** Calls `started` once, at the next `start()`. @returns a function that prevents it */
  onStart(started: () => void): () => void {
    return this.listener.onStart(started);
  }

  /**
   * Makes a client that another part of the app has made use this server. Its connection is closed, and it connects here with the
   * same listeners and commands. Options for another server are dropped: database, user and password. Its `retryStrategy` becomes a
   * pause of 1 ms.
   */
  adopt(client: Redis): void {
    moveClient(client, this.connector);
  }

  /** Closes all connections, and refuses new ones, until `start()`. Keys stay. Calls in flight have an unknown outcome. */
  stop(): void {
    this.listener.stop();
  }

  /** True after `stop()`, until `start()`. */
  get stopped(): boolean {
    return this.listener.isStopped;
  }

  /** Accepts connections again after `stop()`. Clients connect again after their pause for that. */
  start(): void {
    this.listener.start();
  }

  /**
   * Runs a command at once, without a client: `run('EVALSHA', [sha, 1, 'key', 'arg'])`.
   *
   * @returns what a client of ioredis with RESP2 returns for the plain command: no command has a form of its own, so HGETALL
   *   returns an array. An error in the array of EXEC is an Error with this name, too.
   * @throws an Error with the name `ReplyError` if Redis replies with an error
   */
  run(command: string, args: readonly CommandArgument[] = []): unknown {
    return this.execute(command, args, fromBytes);
  }

  /** Does the same as `run()`, with a Buffer for each text of the reply. */
  runBuffer(command: string, args: readonly CommandArgument[] = []): unknown {
    return this.execute(command, args, toBuffer);
  }

  /**
   * Remembers all keys with their times of expiry, the scripts that are loaded, and what commands such as SPOP choose next. It
   * does not include the clock, nor connections with their channels and transactions.
   *
   * Takes the same time for any number of keys. Afterwards each value is copied when it changes for the first time.
   */
  snapshot(): Snapshot {
    return { state: this.server.save() };
  }

  /**
   * Returns to a snapshot of this server. Any snapshot can be restored, in any order and as often as wanted. Takes time for the
   * keys in which the present state and the snapshot differ, and for those that changed on the way from one to the other.
   *
   * @throws RangeError if it is a snapshot of another server
   */
  restore(snapshot: Snapshot): void {
    this.server.restore(snapshot.state);
  }

  /**
   * Returns 16 hexadecimal digits that are equal for equal states: keys and values, times of expiry (absolute, ms since 1970),
   * streams with their groups, scripts that are loaded, and what commands such as SPOP choose next. The order of the fields of
   * a hash and of the members of a set does not count. The clock is not included, but keys that have expired by it do not
   * count. If hashes are like random numbers, two different states have the same digest with a probability of 2^-64.
   *
   * Takes time for the number of keys, and for the size of those that have changed since the last digest.
   */
  digest(): string {
    return this.server.digest();
  }

  private execute(command: string, args: readonly CommandArgument[], textOf: (bytes: string) => unknown): unknown {
    const reply = clientReply(this.server.execute(this.direct, [toBytes(command), ...args.map(toBytes)]), textOf);
    if (reply instanceof Error) throw reply;
    return reply;
  }
}
