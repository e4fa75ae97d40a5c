import { isNoScript } from './server-errors';

/**
 * Failure of a command. Methods of RedisNode and RedisConnection that return a promise reject with no other error.
 *
 * - `reply`: Redis replied with an error; `code` is its first word.
 * - `not-sent`: this sending of the command was not written, or Redis refused it, and nothing will send it again. An earlier sending
 *   of the same command may have run, see `mayHaveRun`.
 * - `lost`: the command may have been written, or may still be written, and its reply will not be returned.
 */
export class CommandFailure extends Error {
  /**
   * @param mayHaveRun true if the command was written at least once without getting a reply, or may still be written. An error
   *   reply to a later sending proves nothing about the earlier one.
   */
  constructor(
    readonly kind: 'reply' | 'not-sent' | 'lost',
    message: string,
    readonly mayHaveRun: boolean = kind === 'lost',
  ) {
    super(message);
  }

  /** First word of Redis' error; '' unless `kind` is `reply`. */
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

/** Gets the outcome of one command: exactly one of its methods is called, once, after `run` has returned. */
export interface Receiver {
  /** Called before `replied` if the command was written more than once, so that the reply may be the one to a replay. */
  readonly resent?: (() => void) | undefined;
  /** Gets the reply of Redis: integers are numbers, nil is null, strings are Buffers, arrays are arrays. */
  replied(reply: unknown): void;
  /** Gets the failure, if there is no reply or the reply is an error. */
  failed(failure: CommandFailure): void;
}

/** One server of a RedisConnection. */
export interface RedisNode {
  /** `host:port`, or the socket's path. */
  readonly id: string;
  readonly role: 'master' | 'replica';
  /** True if the connection is open and the server is ready, so that a command can be written at once. */
  readonly ready: boolean;
  /** Connects a client with `lazyConnect` that has not connected yet; does nothing otherwise. */
  connect(): void;
  /**
   * Writes the command at once and returns Redis' reply. Strings of the reply are Buffers with the exact bytes.
   *
   * @param resent as `resent` of Receiver
   * @throws CommandFailure
   */
  send(name: string, args: CommandArg[], resent?: () => void): Promise<unknown>;
  /** Same as `send`, but makes no promise, which would cost each call more. Never throws. */
  run(name: string, args: CommandArg[], receiver: Receiver): void;
  /**
   * Sends the command between two TIME commands, so that the measured time usually includes neither the network nor Redis' queue.
   * For a large command, it may include both.
   *
   * @param took called with the time that the command took in Redis, ms, or undefined if this user may not send TIME; not
   *   called if the command failed, or TIME failed for another reason
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
   * Writes the commands one after the other and returns all replies. The reply to a failed command is its CommandFailure.
   */
  sendAll(commands: readonly RedisCommand[]): Promise<unknown[]>;
  /** Closes the connection at once. Replies that have not come are lost. */
  close(): void;
}

/** Functions that a ChannelSubscriber calls. */
export interface ChannelEvents {
  /** Called with each message of a channel. */
  readonly message: (channel: string, text: string) => void;
  /** Called when the node has ended the subscription, such as when the channel's slot moved to another node. */
  readonly lost: (channel: string) => void;
  /** Called when the connection has ended; it does not reconnect. */
  readonly ended: () => void;
}

/** A separate connection to one node, for sharded channels, and for channels of key events, which are plain ones. */
export interface ChannelSubscriber {
  /** Resolves when the node has confirmed the subscription. @param channel sharded, or one that `keyEventsOf` returned */
  subscribe(channel: string): Promise<void>;
  /** Resolves when the node has confirmed the end of the subscription. */
  unsubscribe(channel: string): Promise<void>;
  /** Resolves when the node has replied. */
  ping(): Promise<unknown>;
  /** Closes the connection at once. */
  close(): void;
}

/** A Redis client, as ScriptRegistry uses it. */
export interface RedisConnection {
  /** True for a Redis Cluster, where keys are in slots on several nodes. */
  readonly clustered: boolean;
  /** The nodes that the client knows now. For a Cluster, the replicas, too. */
  nodes(): readonly RedisNode[];
  /**
   * Ids of masters that own slots by the client's slot table, but are not in `nodes()`. While the slot table of a Cluster is
   * unknown, one text stands for all masters.
   */
  lostMasters(): readonly string[];
  /**
   * Returns the node to send a slot's commands to: its master, or any ready master if the client does not know which one has the
   * slot. May be undefined while the client lacks such a node or is not ready.
   */
  nodeFor(slot: number): RedisNode | undefined;
  /**
   * Sends EVAL or EVALSHA to the master of its first key, and follows the redirections of a Cluster.
   *
   * @param resent as `resent` of Receiver
   * @throws CommandFailure
   */
  sendRouted(name: string, args: CommandArg[], resent?: () => void): Promise<unknown>;
  /** Makes the client of a Cluster read the topology again, and connects clients with `lazyConnect`. */
  refresh(): void;
  /** Returns a separate connection to a node. It is kept and returned again until it ends. @throws CommandFailure */
  dedicated(node: RedisNode): Promise<DedicatedConnection>;
  /** Opens one more connection to a node, for sharded channels. The caller must close it. @throws CommandFailure */
  subscriber(node: RedisNode, on: ChannelEvents): Promise<ChannelSubscriber>;
  /**
   * Calls `listener` when a node has connected or reconnected (`ready`), when the set of nodes or their slots may have
   * changed (`topology`), and when a connection has closed or could not be made (`down`).
   *
   * @returns a function that stops calling the listener
   */
  listen(listener: (event: 'ready' | 'topology' | 'down', node?: RedisNode) => void): () => void;
  /** Closes the connections of `dedicated`, and removes the listeners of this object from the client. */
  close(): void;
}
