import { isNoScript } from './server-errors';

/**
 * Failure of a command. It is the only error with which methods of RedisNode and RedisConnection reject their promises.
 *
 * - `reply`: Redis replied with an error; `code` is its first word.
 * - `not-sent`: the command was not written this time, or Redis refused it, and the client will not send it again. If the command was
 *   sent before, it may have run then: see `mayHaveRun`.
 * - `lost`: the command may have run, or may run later, but its reply is lost.
 */
export class CommandFailure extends Error {
  /**
   * @param mayHaveRun true if the command was written at least once and got no reply to this write, or if it may still be written. If the
   *   command was sent again and got an error reply, the first one may have run nevertheless.
   */
  constructor(
    readonly kind: 'reply' | 'not-sent' | 'lost',
    message: string,
    readonly mayHaveRun: boolean = kind === 'lost',
  ) {
    super(message);
  }

  /** First word of Redis' error, such as `WRONGTYPE`. Empty unless `kind` is `reply`. */
  get code(): string {
    return this.kind === 'reply' ? (this.message.split(' ', 1)[0] ?? '') : '';
  }

  /** True if the server does not have the script. */
  get noScript(): boolean {
    return this.kind === 'reply' && isNoScript(this.message);
  }
}

/** An argument of a command: text, which is written as UTF-8, or bytes, which are written as they are. */
export type CommandArg = string | Buffer;

/** A command and its arguments. */
export type RedisCommand = readonly [name: string, args: CommandArg[]];

/** Callbacks for the outcome of one command. Either `replied` or `failed` is called, once, after `run` has returned. */
export interface Receiver {
  /**
   * Called before `replied` if the client wrote the command more than once. The command may then have run before the run that gave this
   * reply.
   */
  readonly resent?: (() => void) | undefined;
  /** Called with the reply of Redis. Integers are numbers, nil is null, strings are Buffers, and arrays are arrays of these. */
  replied(reply: unknown): void;
  /** Called with the failure if there is no reply, or if the reply is an error. */
  failed(failure: CommandFailure): void;
}

/** One server of a RedisConnection. */
export interface RedisNode {
  /** `host:port` of the server, or the path of its socket. */
  readonly id: string;
  readonly role: 'master' | 'replica';
  /** True if the connection is open and the server is ready, so that a command can be written at once. */
  readonly ready: boolean;
  /** Connects the client if it was never connected, such as with `lazyConnect` of ioredis. Otherwise does nothing. */
  connect(): void;
  /**
   * Writes the command at once and returns Redis' reply. Strings of the reply are Buffers with the exact bytes.
   *
   * @param resent as `resent` of Receiver
   * @throws CommandFailure
   */
  send(name: string, args: CommandArg[], resent?: () => void): Promise<unknown>;
  /** Does the same as `send`, but calls `receiver` instead of returning a promise, which would make each call slower. Never throws. */
  run(name: string, args: CommandArg[], receiver: Receiver): void;
  /**
   * Sends the command between two TIME commands, so that the measured time usually includes neither the network nor Redis' queue. For a
   * large command, it may include both.
   *
   * @param took called with the time that the command took in Redis, ms, or with undefined if the Redis user may not send TIME. Not
   *   called if the command failed, or if TIME failed for another reason
   * @param resent as `resent` of Receiver
   */
  sendMeasured(
    name: string,
    args: CommandArg[],
    took: (ms: number | undefined) => void,
    resent?: () => void,
  ): Promise<unknown>;
}

/** A separate connection to a node, for commands that block their connection. */
export interface DedicatedConnection {
  /**
   * Writes the commands one after the other and returns all replies. For a failed command, the array contains the CommandFailure in place
   * of the reply.
   */
  sendAll(commands: readonly RedisCommand[]): Promise<unknown[]>;
  /** Closes the connection at once. Commands that have no reply yet fail with `lost`. */
  close(): void;
}

/** Callbacks of a ChannelSubscriber. */
export interface ChannelEvents {
  /** Called with each message of a channel. */
  readonly message: (channel: string, text: string) => void;
  /** Called when the node has ended the subscription, such as when the channel's slot moved to another node. */
  readonly lost: (channel: string) => void;
  /** Called when the connection has ended. The connection does not reconnect. */
  readonly ended: () => void;
}

/** Separate connection to one node, for subscriptions to sharded channels, and to channels of key events, which are not sharded. */
export interface ChannelSubscriber {
  /**
   * Subscribes to a channel. Resolves when the node has confirmed this.
   *
   * @param channel sharded channel, or a channel that `keyEventsOf` returned
   */
  subscribe(channel: string): Promise<void>;
  /** Unsubscribes from a channel. Resolves when the node has confirmed this. */
  unsubscribe(channel: string): Promise<void>;
  /** Sends PING. Resolves when the node has replied. */
  ping(): Promise<unknown>;
  /** Closes the connection at once. */
  close(): void;
}

/** Adapter with which ScriptRegistry uses a Redis client. */
export interface RedisConnection {
  /** True for a Redis Cluster, which distributes keys by hash slot over several nodes. */
  readonly clustered: boolean;
  /** Returns the nodes that the client knows now. For a Cluster, they include the replicas. */
  nodes(): readonly RedisNode[];
  /**
   * Returns the ids of the masters that own slots in the client's slot table, but are not in `nodes()`. While the slot table of a Cluster
   * is unknown, returns one text that describes all masters.
   */
  lostMasters(): readonly string[];
  /**
   * Returns the node for commands with keys in a slot: the master of the slot, or any ready master if the client does not know the master
   * of the slot. May return undefined while the client has no such node, or is not ready.
   */
  nodeFor(slot: number): RedisNode | undefined;
  /**
   * Sends EVAL or EVALSHA to the master that has the first key of the command. Follows the redirections of a Cluster.
   *
   * @param resent as `resent` of Receiver
   * @throws CommandFailure
   */
  sendRouted(name: string, args: CommandArg[], resent?: () => void): Promise<unknown>;
  /** Makes the client of a Cluster read the slots and nodes again. Connects a client that was never connected. */
  refresh(): void;
  /** Returns a separate connection to a node. Returns the same connection again until the connection ends. @throws CommandFailure */
  dedicated(node: RedisNode): Promise<DedicatedConnection>;
  /** Opens a separate connection to a node, for subscriptions to channels. The caller must close the connection. @throws CommandFailure */
  subscriber(node: RedisNode, on: ChannelEvents): Promise<ChannelSubscriber>;
  /**
   * Calls `listener` with an event: `ready` when a node has connected or reconnected; `topology` when the nodes or their slots may have
   * changed; `down` when a connection has closed or could not be opened.
   *
   * @returns a function that stops calling the listener
   */
  listen(listener: (event: 'ready' | 'topology' | 'down', node?: RedisNode) => void): () => void;
  /** Closes the connections of `dedicated`, and removes the listeners of this object from the client. */
  close(): void;
}
