import type { Command, Redis } from 'ioredis';
import { messageOf } from '../../../internal/src';
import { disconnect } from './disconnect';
import { loadIoredis } from './installed-clients';
import {
  type CommandArg,
  CommandFailure,
  type DedicatedConnection,
  type Receiver,
  type RedisCommand,
  type RedisNode,
} from './port';
import { passText, sendBetweenTimes } from './replies';
import { isRefusal } from './server-errors';

/** How messages of ioredis begin when it gives up a command. If `writes` is 0 then, ioredis never wrote the command to a socket. */
const NOT_WRITTEN = [
  'Connection is closed.',
  "Stream isn't writeable",
  'Connection in subscriber mode',
  "Cluster isn't ready",
  'Cluster is ended.',
  'Too many Cluster redirections.',
  'Reached the max retries per request limit',
];

/**
 * A command that counts how often ioredis wrote it to a socket. ioredis sends commands again by itself, in several cases
 * and without an event. It calls `toWritable` each time it writes a command.
 * See DECISIONS.md: outcome-belongs-to-the-call
 */
export interface SentCommand extends Command {
  /** How often ioredis wrote the command to a socket. */
  writes: number;
  /** Number of error replies. ioredis may have sent the command again after each. */
  errorReplies: number;
}

type CommandClass = typeof Command;
type CountingClass = new (name: string, args: string[]) => SentCommand;
/** The class of commands for each class of clients. */
const counting = new WeakMap<object, CountingClass>();

/**
 * In ioredis 5 the class of commands is a property of the client's class. That class is used, so that a client of another
 * copy of ioredis works too.
 */
function countingClass(clients: object): CountingClass {
  const base = (clients as { Command?: CommandClass }).Command ?? loadIoredis().Command;
  class CountingCommand extends base implements SentCommand {
    writes = 0;
    errorReplies = 0;

    override toWritable(socket: object): string | Buffer {
      this.writes += 1;
      return super.toWritable(socket);
    }
  }
  counting.set(clients, CountingCommand);
  return CountingCommand;
}

/**
 * Makes a command whose arguments are sent unchanged, and whose reply has Buffers for strings. `client.callBuffer` is not used,
 * because it may go through autopipelining.
 */
export function commandFor(client: Redis, name: string, args: CommandArg[]): SentCommand {
  const command = new (counting.get(client.constructor) ?? countingClass(client.constructor))(name, []);
  // The arguments are set after the constructor, which would flatten and convert them. The constructor would also set
  // `bufferMode` if an argument is a Buffer, so that is done here.
  command.args = args;
  for (let i = 0; i < args.length; i++) {
    if (typeof args[i] !== 'string') (command as unknown as { bufferMode: boolean }).bufferMode = true;
  }
  return command;
}

/**
 * Returns true for an error reply of Redis. Checks the name of the error, since the client may be of another copy of ioredis,
 * and its class, since bundlers may shorten names.
 */
function isReply(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { name } = error;
  return (
    name === 'ReplyError' || name === 'ErrorReply' || error instanceof (loadIoredis().ReplyError as ErrorConstructor)
  );
}

/** Returns how many times the command was written without getting a reply. */
function unanswered(command: SentCommand): number {
  return command.writes - command.errorReplies;
}

/** Returns true if a command that has its reply was written more than once, and the reply to an earlier writing was lost. */
export function wasResent(command: SentCommand): boolean {
  return unanswered(command) > 1;
}

/**
 * Counts the error replies of a command that the ioredis Cluster routes. A Cluster replaces `reject` of the command by a
 * function that may send the command again.
 *
 * The command is rejected without sending it again unless Redis has refused it, since otherwise the script may have run. With
 * `resends: false` it is also rejected if a connection closed before the reply.
 */
export function watchRouting(command: SentCommand, resends: boolean): void {
  const end = command.reject;
  let current = end;
  Object.defineProperty(command, 'reject', {
    get: () => current,
    // The getter returns another function than the one set, so that the Cluster's `reject` never calls itself.
    set: (route: typeof end) => {
      current = (error: Error): void => {
        const reply = isReply(error);
        if (reply) command.errorReplies += 1;
        const ends = reply ? !isRefusal(error.message, true) : !resends && unanswered(command) > 0;
        (ends ? end : route).call(command, error);
      };
    },
  });
}

/** Converts the error of a command that was sent on one connection. */
export function failureOf(command: SentCommand, error: unknown): CommandFailure {
  if (isReply(error)) command.errorReplies += 1;
  return routedFailureOf(command, error);
}

/**
 * Converts the error of a command that a Cluster routed, see `watchRouting`. Only the message is kept: errors of ioredis have
 * the command as a property, with the arguments of all calls of a group.
 */
export function routedFailureOf(command: SentCommand, error: unknown): CommandFailure {
  const message = messageOf(error);
  const mayHaveRun = unanswered(command) > 0;
  if (isReply(error)) return new CommandFailure('reply', message, mayHaveRun);
  // Other errors do not say so. After `commandTimeout`, a queue of ioredis may still have the command and write it later.
  const neverWritten = !mayHaveRun && NOT_WRITTEN.some((start) => message.startsWith(start));
  return new CommandFailure(neverWritten ? 'not-sent' : 'lost', message);
}

/**
 * RedisNode on one connection of an ioredis client.
 *
 * It bypasses the client's autopipelining, which loses keys of scripts on a Cluster, and the client's offline queue, where
 * commands could wait beyond their deadline.
 * See DECISIONS.md: commands-bypass-client-queues
 */
export class IoredisNode implements RedisNode {
  /** For each command that has no reply yet, the function that rejects its promise. Empty if the client resends commands. */
  private readonly unanswered = new Set<(failure: CommandFailure) => void>();
  private readonly resends: boolean;
  private readonly handlers: [event: string, handler: () => void][] = [];

  constructor(
    readonly client: Redis,
    readonly role: 'master' | 'replica',
  ) {
    this.resends = client.options.autoResendUnfulfilledCommands !== false;
    this.on('close', () => this.loseUnanswered());
  }

  onStatus(listener: (event: 'ready' | 'down') => void): void {
    this.on('ready', () => listener('ready'));
    this.on('close', () => listener('down'));
    this.on('end', () => listener('down'));
  }

  get id(): string {
    const { path, host, port } = this.client.options;
    return path ?? `${host ?? 'localhost'}:${port ?? 6379}`;
  }

  get ready(): boolean {
    // Before the first connection ioredis has no stream, although its types have one.
    const stream = this.client.stream as Redis['stream'] | undefined;
    return this.client.status === 'ready' && stream?.writable === true;
  }

  connect(): void {
    if (this.client.status === 'wait') this.client.connect().catch(() => undefined);
  }

  send(name: string, args: CommandArg[], resent?: () => void): Promise<unknown> {
    return new Promise((replied, failed) => this.run(name, args, { resent, replied, failed }));
  }

  run(name: string, args: CommandArg[], receiver: Receiver): void {
    let command: SentCommand;
    let answer: Promise<unknown>;
    try {
      command = commandFor(this.client, name, args);
    } catch (error) {
      return queueMicrotask(() => receiver.failed(new CommandFailure('not-sent', messageOf(error))));
    }
    try {
      answer = this.ready
        ? (this.client.sendCommand(command) as Promise<unknown>)
        : Promise.reject(new CommandFailure('not-sent', `${this.id} is not connected, or not ready yet`));
    } catch (error) {
      answer = Promise.reject(failureOf(command, error));
    }
    (this.resends ? answer : this.untilClosed(answer)).then(
      (reply) => {
        if (wasResent(command)) receiver.resent?.();
        if (Buffer.isBuffer(reply)) passText(reply, receiver);
        else receiver.replied(reply);
      },
      (error: unknown) => receiver.failed(error instanceof CommandFailure ? error : failureOf(command, error)),
    );
  }

  sendMeasured(
    name: string,
    args: CommandArg[],
    took: (ms: number | undefined) => void,
    resent?: () => void,
  ): Promise<unknown> {
    if (!this.ready) return this.send(name, args, resent);
    const { stream } = this.client;
    // All three commands are in one write, so Redis mostly reads them together and serves no other client between them.
    stream.cork();
    const answer = sendBetweenTimes(this, name, args, took, resent);
    stream.uncork();
    return answer;
  }

  /** Removes the listeners of this object from the client. */
  forget(): void {
    for (const [event, handler] of this.handlers.splice(0)) this.client.off(event, handler);
  }

  /**
   * Returns the reply, or rejects when the connection closes before the reply. ioredis 6.0 itself would leave the promise
   * pending if the client does not resend commands.
   */
  private untilClosed(answer: Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.unanswered.add(reject);
      answer.then(resolve, reject).finally(() => this.unanswered.delete(reject));
    });
  }

  private on(event: string, handler: () => void): void {
    this.client.on(event, handler);
    this.handlers.push([event, handler]);
  }

  private loseUnanswered(): void {
    for (const lose of this.unanswered) {
      lose(new CommandFailure('lost', `The connection to ${this.id} closed before the reply`));
    }
  }
}

/** Connects a client, or disconnects it. @throws CommandFailure with the cause, which ioredis gives only to the event `error` */
export async function connectOrFail(client: Redis): Promise<void> {
  let cause: unknown;
  const note = (error: unknown): void => void (cause = error);
  client.on('error', note);
  try {
    await client.connect();
  } catch (error) {
    disconnect(client);
    throw new CommandFailure('not-sent', `No connection could be opened: ${messageOf(cause ?? error)}`);
  } finally {
    client.off('error', note);
  }
}

/**
 * Opens a connection to the server of `client`. It resends no command, so that each lost reply is reported.
 *
 * @param closed called when the connection has ended
 * @throws CommandFailure if it cannot connect
 */
export async function openDedicated(client: Redis, closed: () => void): Promise<DedicatedConnection> {
  // The client may have SELECTed another database than `db` of its options.
  const { select = client.options.db } = (client as unknown as { condition?: { select?: number } }).condition ?? {};
  const own = client.duplicate({
    db: select,
    autoResendUnfulfilledCommands: false,
    enableAutoPipelining: false,
    lazyConnect: true,
    retryStrategy: () => null,
  });
  own.on('error', () => undefined);
  own.once('end', closed);
  const node = new IoredisNode(own, 'master');
  await connectOrFail(own);
  return {
    sendAll: async (commands: readonly RedisCommand[]) => {
      const outcomes = await Promise.allSettled(commands.map(([name, args]) => node.send(name, args)));
      return outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : (outcome.reason as unknown)));
    },
    close: () => disconnect(own),
  };
}
