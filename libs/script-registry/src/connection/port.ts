import { isNoScript } from './server-errors';

/**
 * Failure of a Redis command. An adapter for a Redis client must reject with this error only.
 *
 * - `reply`: Redis replied with an error; `code` is its first word.
 * - `not-sent`: the command was not written this time, or Redis refused it, and the client will not send it again. An earlier copy of the
 *   command may have run, see `mayHaveRun`.
 * - `lost`: the command may have run, or may run later, but its reply is lost.
 */
export class CommandFailure extends Error {
  /**
   * @param mayHaveRun true if a copy of the command may have run, or may run later: it was written and got no reply, or it may still be
   *   written. An error reply to a later copy does not change this.
   */
  constructor(
    readonly kind: 'reply' | 'not-sent' | 'lost',
    message: string,
    readonly mayHaveRun: boolean = kind === 'lost',
  ) {
    super(message);
  }

  /** First word of the error reply, such as `WRONGTYPE`. Empty unless `kind` is `reply`. */
  get code(): string {
    return this.kind === 'reply' ? (this.message.split(' ', 1)[0] ?? '') : '';
  }

  /** True if Redis replied NOSCRIPT, because the server does not have the script. */
  get noScript(): boolean {
    return this.kind === 'reply' && isNoScript(this.message);
  }
}

/** An argument of a command: text, which is written as UTF-8, or bytes, which are written as they are. */
export type CommandArg = string | Buffer;

/** A command and its arguments. */
export type RedisCommand = readonly [name: string, args: CommandArg[]];

/** Callbacks for the result of one command. Either `replied` or `failed` is called, once, and not before `run` has returned. */
export interface Receiver {
  /** Called before `replied` if the client wrote the command more than once. An earlier copy of the command may then have run, too. */
  readonly resent?: (() => void) | undefined;
  /** Called with the reply of Redis. Integers are numbers, nil is null, strings are Buffers, and arrays are arrays of these. */
  replied(reply: unknown): void;
  /** Called with the failure if there is no reply, or if the reply is an error. */
  failed(failure: CommandFailure): void;
}

/** Connection to one server, such as a master or a replica. */
export interface RedisNode {
  /** `host:port` of the server, or the path of its socket. */
  readonly id: string;
  readonly role: 'master' | 'replica';
  /** True if the connection is open and the server is ready, so that a command can be written at once. */
  readonly ready: boolean;
  /** Opens the connection if it was never open, such as with `lazyConnect` of ioredis. Otherwise does nothing. */
  connect(): void;
  /**
   * Writes the command at once, and returns the reply. Strings in the reply are Buffers with the exact bytes.
   *
   * @param resent called if the client wrote the command more than once; see `resent` of Receiver
   * @throws CommandFailure
   */
  send(name: string, args: CommandArg[], resent?: () => void): Promise<unknown>;
  /** Does the same as `send`, but calls the functions of `receiver`. A promise would make each call slower. Never throws. */
  run(name: string, args: CommandArg[], receiver: Receiver): void;
  /**
   * Sends the command between two TIME commands, to measure how long Redis needs for it. The time usually includes neither the network nor
   * the wait in Redis' queue. For a large command, it may include both.
   *
   * @param took called with the time, ms, or with undefined if the Redis user may not send TIME. Not called if the command failed, or if
   *   TIME failed for another reason
   * @param resent called if the client wrote the command more than once; see `resent` of Receiver
   */
  sendMeasured(
    name: string,
    args: CommandArg[],
    took: (ms: number | undefined) => void,
    resent?: () => void,
  ): Promise<unknown>;
}

/** A separate connection to a node, for commands that block their connection, such as WAIT. */
export interface DedicatedConnection {
  /** Writes the commands one after the other, and returns all replies. The element of a failed command is its CommandFailure. */
  sendAll(commands: readonly RedisCommand[]): Promise<unknown[]>;
  /** Closes the connection at once. Commands without a reply fail with `lost`. */
  close(): void;
}

/** Callbacks that a connection for Pub/Sub calls. */
export interface ChannelEvents {
  /** Called with each message of a channel. */
  readonly message: (channel: string, text: string) => void;
  /** Called when the node has ended the subscription, such as when the channel's hash slot moved to another node. */
  readonly lost: (channel: string) => void;
  /** Called when the connection has ended. It does not reconnect. */
  readonly ended: () => void;
}

/** Separate connection to one node, for Pub/Sub: sharded channels, and keyspace notifications. */
export interface ChannelSubscriber {
  /**
   * Subscribes to a channel. Resolves when the node has confirmed this. May be called while an `unsubscribe` of the same channel is in
   * flight.
   *
   * @param channel name of a sharded channel, or the name that `keyEventsOf` returns for keyspace notifications
   */
  subscribe(channel: string): Promise<void>;
  /** Unsubscribes from a channel. Resolves when the node has confirmed this. */
  unsubscribe(channel: string): Promise<void>;
  /** Sends PING. Resolves when the node has replied. */
  ping(): Promise<unknown>;
  /** Closes the connection at once. */
  close(): void;
}

/**
 * Connects ScriptRegistry to a Redis client. Each supported client has an implementation of this interface. An app can write one for
 * another client.
 */
export interface RedisConnection {
  /** True for a Redis Cluster, which distributes keys by hash slot over several nodes. */
  readonly clustered: boolean;
  /** Returns the nodes that the client knows now. For a Cluster, these are masters and replicas. */
  nodes(): readonly RedisNode[];
  /**
   * Returns the ids of the masters that own hash slots, but are not in `nodes()`. While the slots of a Cluster are unknown, returns one
   * text that describes all masters.
   */
  lostMasters(): readonly string[];
  /**
   * Returns the node for commands with keys in a hash slot. This is the master of the slot, or any ready master if the client does not know
   * the slot's master. May return undefined while no node is ready.
   */
  nodeFor(slot: number): RedisNode | undefined;
  /**
   * Sends EVAL or EVALSHA to the master of the first key. Follows the redirections of a Cluster.
   *
   * @param resent called if the client wrote the command more than once; see `resent` of Receiver
   * @throws CommandFailure
   */
  sendRouted(name: string, args: CommandArg[], resent?: () => void): Promise<unknown>;
  /** Makes the client of a Cluster read the nodes and their hash slots again. Connects a client that was never connected. */
  refresh(): void;
  /** Returns the separate connection to a node, and opens it if necessary. @throws CommandFailure */
  dedicated(node: RedisNode): Promise<DedicatedConnection>;
  /** Opens a separate connection to a node for Pub/Sub. The caller must close it. @throws CommandFailure */
  subscriber(node: RedisNode, on: ChannelEvents): Promise<ChannelSubscriber>;
  /**
   * Calls `listener` with an event: `ready` when a node has connected or reconnected; `topology` when the nodes or their hash slots may
   * have changed; `down` when a connection has closed or could not be opened.
   *
   * @returns a function that stops calling the listener
   */
  listen(listener: (event: 'ready' | 'topology' | 'down', node?: RedisNode) => void): () => void;
  /** Closes the connections that `dedicated` opened, and removes the listeners that this object has added to the client. */
  close(): void;
}
