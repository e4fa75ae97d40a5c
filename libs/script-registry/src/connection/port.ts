/**
 * Failure of a command, as the registry needs to know it. An adapter throws nothing else.
 *
 * - `reply`: Redis answered with an error; `code` is its first word.
 * - `not-sent`: the command was never written, or Redis refused it each time, and nothing will send it later.
 * - `lost`: the command was written and its answer will not come.
 */
export class CommandFailure extends Error {
  /**
   * @param mayHaveRun true when the command was written at least once and Redis never answered that. An error that
   *   Redis answered to a later sending proves nothing about the earlier one.
   */
  constructor(
    readonly kind: 'reply' | 'not-sent' | 'lost',
    message: string,
    readonly mayHaveRun: boolean = kind === 'lost',
  ) {
    super(message);
  }

  /** First word of Redis' error, or '' where Redis did not answer. */
  get code(): string {
    return this.kind === 'reply' ? (this.message.split(' ', 1)[0] ?? '') : '';
  }

  /** True when the script itself raised the error: Redis marks those with its SHA. */
  get raisedByScript(): boolean {
    return this.kind === 'reply' && raisedByScript(this.message);
  }

  /** True when the server does not know the script; the sentence is the server's own. */
  get noScript(): boolean {
    return this.kind === 'reply' && this.message.startsWith('NOSCRIPT No matching script') && !this.raisedByScript;
  }
}

/** Returns true if a script raised this error: Redis adds the SHA of the script. */
export function raisedByScript(message: string): boolean {
  return / script: [0-9a-f]{40}/.test(message);
}

/** An argument of a command: text, which is written as UTF-8, or bytes, which are written as they are. */
export type CommandArg = string | Buffer;

/** A Redis command: its name and its arguments. */
export type RedisCommand = readonly [name: string, args: CommandArg[]];

/** One server behind a connection. */
export interface RedisNode {
  /** `host:port`, or the socket's path. */
  readonly id: string;
  readonly role: 'master' | 'replica';
  /** Whether a command that is sent now is written now. */
  readonly ready: boolean;
  /** Starts to connect where the client connects lazily; harmless otherwise. */
  connect(): void;
  /**
   * Writes the command at once and returns Redis' reply; its strings are Buffers, which hold the exact bytes.
   *
   * @throws CommandFailure
   */
  send(name: string, args: CommandArg[]): Promise<unknown>;
  /**
   * Sends the command as `send` does, between two TIMEs, so that neither the link nor the queue is part of what is measured.
   *
   * @param took called with what the command took in Redis, ms, or undefined where this user may not send TIME; not called
   *   when the command failed
   */
  sendMeasured(name: string, args: CommandArg[], took: (ms: number | undefined) => void): Promise<unknown>;
}

/** A connection of luanest's own to the master of a slot, for commands that block the connection they run on. */
export interface DedicatedConnection {
  /**
   * Writes the commands back to back and answers with all replies, a failed command's CommandFailure in its place.
   *
   * @throws CommandFailure when not one of them was answered
   */
  sendAll(commands: readonly RedisCommand[]): Promise<unknown[]>;
  close(): void;
}

/** A connection of luanest's own to one node, for sharded channels. */
export interface ChannelSubscriber {
  /** Resolves when the node has taken the subscription. */
  subscribe(channel: string): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  close(): void;
}

/** What the registry asks of a Redis client. */
export interface RedisConnection {
  /** True where keys live in slots on several nodes. */
  readonly clustered: boolean;
  /** True where the client hands integer replies over as strings. */
  readonly stringNumbers: boolean;
  /** The nodes known now, replicas too where the client knows them. */
  nodes(): readonly RedisNode[];
  /** Masters that own slots and are not among the nodes, because no connection to them could be made. */
  lostMasters(): readonly string[];
  /** The master of a slot, as far as the client knows; any slot where there is no Cluster. */
  nodeFor(slot: number): RedisNode | undefined;
  /** Sends as `send` does, by the client's own routing, which follows MOVED, ASK and TRYAGAIN. @throws CommandFailure */
  sendRouted(name: string, args: CommandArg[]): Promise<unknown>;
  /** Asks the client to learn the topology anew. */
  refresh(): void;
  /** A connection of our own to a node, opened on first use and kept until `close`. @throws CommandFailure */
  dedicated(node: RedisNode): Promise<DedicatedConnection>;
  /**
   * A further connection to a node, for sharded channels; whoever asked closes it.
   *
   * @param heard called with the channel at each message, and when the node has ended the subscription
   * @param ended called when the connection is gone for good
   * @throws CommandFailure
   */
  subscriber(node: RedisNode, heard: (channel: string) => void, ended: () => void): Promise<ChannelSubscriber>;
  /**
   * Calls back when a node has (re)connected (`ready`), when the set of nodes or their slots may have changed
   * (`topology`), or when a node is out of reach (`down`). Answers how to stop listening.
   */
  listen(listener: (event: 'ready' | 'topology' | 'down', node?: RedisNode) => void): () => void;
  /** Closes what this adapter opened and stops listening; the user's client stays as it is. */
  close(): void;
}
