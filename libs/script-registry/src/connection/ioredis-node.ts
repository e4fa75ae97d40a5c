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

/**
 * First words of the errors with which ioredis gives up a command. If `writes` of the command is 0 after such an error, ioredis never
 * wrote the command to a socket, and will not write it.
 */
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
 * Command that counts how often ioredis wrote it to a socket. In several cases, ioredis sends a command again by itself, without an
 * event. It calls `toWritable` of the command before each write.
 * See DECISIONS.md: outcome-belongs-to-the-call
 */
export interface SentCommand extends Command {
  /** How often ioredis wrote the command to a socket. */
  writes: number;
  /** Number of error replies. After each of them, ioredis may have sent the command again. */
  errorReplies: number;
}

type CommandClass = typeof Command;
type CountingClass = new (name: string, args: string[]) => SentCommand;
/** Subclass of `Command` that counts writes, by the class of the client. */
const counting = new WeakMap<object, CountingClass>();

/**
 * Creates a subclass of the class `Command` of ioredis. In ioredis 5, this class is a property of the class of the client. The function
 * uses that property, so that a client of another copy of ioredis also works.
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
 * Creates a command. ioredis sends its arguments unchanged, and returns strings of the reply as Buffers. `client.callBuffer` is not used,
 * because it may use autopipelining.
 */
export function commandFor(client: Redis, name: string, args: CommandArg[]): SentCommand {
  const command = new (counting.get(client.constructor) ?? countingClass(client.constructor))(name, []);
  // The constructor would flatten and convert the arguments, so they are set here. The constructor would also set `bufferMode` if an
  // argument is a Buffer, so this loop sets it.
  command.args = args;
  for (let i = 0; i < args.length; i++) {
    if (typeof args[i] !== 'string') (command as unknown as { bufferMode: boolean }).bufferMode = true;
  }
  return command;
}

/**
 * Returns true for an error reply of Redis. Checks the name of the error, because the client may come from another copy of ioredis. Also
 * checks the class of the error, because a bundler may have shortened the name.
 */
function isReply(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { name } = error;
  return (
    name === 'ReplyError' || name === 'ErrorReply' || error instanceof (loadIoredis().ReplyError as ErrorConstructor)
  );
}

/** Returns how many times the command was written minus the number of its error replies. */
function unanswered(command: SentCommand): number {
  return command.writes - command.errorReplies;
}

/** Returns true if the client wrote the command more than once, and the reply to an earlier write was lost. Call it after a reply. */
export function wasResent(command: SentCommand): boolean {
  return unanswered(command) > 1;
}

/**
 * Counts the error replies to a command that the ioredis Cluster routes. The Cluster replaces `reject` of the command by a function that
 * may send the command again. So this function defines a setter for `reject`.
 *
 * The Cluster may send the command again after an error reply only if this reply shows that Redis refused the command. After any other
 * error reply, the script may have run, so the command is rejected. With `resends: false`, the command is also rejected if a connection
 * closed before the reply.
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

/** Converts the error of a command that was sent on one connection to a CommandFailure. Counts an error reply. */
export function failureOf(command: SentCommand, error: unknown): CommandFailure {
  if (isReply(error)) command.errorReplies += 1;
  return routedFailureOf(command, error);
}

/**
 * Converts the error of a command that a Cluster routed to a CommandFailure (see `watchRouting`). Keeps only the message: an error of
 * ioredis has a property with the command, which contains the arguments of all calls of a group.
 */
export function routedFailureOf(command: SentCommand, error: unknown): CommandFailure {
  const message = messageOf(error);
  const mayHaveRun = unanswered(command) > 0;
  if (isReply(error)) return new CommandFailure('reply', message, mayHaveRun);
  // Only the errors in NOT_WRITTEN prove this. After `commandTimeout`, for example, the command may still be in a queue of ioredis, which
  // writes it later.
  const neverWritten = !mayHaveRun && NOT_WRITTEN.some((start) => message.startsWith(start));
  return new CommandFailure(neverWritten ? 'not-sent' : 'lost', message);
}

/**
 * RedisNode on one connection of an ioredis client.
 *
 * Its commands do not use autopipelining, which loses the keys of scripts on a Cluster. They do not use the offline queue of the client
 * either, where commands could wait beyond their deadlines.
 * See DECISIONS.md: commands-bypass-client-queues
 */
export class IoredisNode implements RedisNode {
  /** Functions that reject the promises of the commands that have no reply yet. Empty if the client resends commands after a reconnect. */
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
    // Before the first connection, `stream` is undefined, although the types of ioredis declare it.
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
    // All three commands are in one write. So Redis usually reads them together, and serves no other client between them.
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
   * Returns the reply. Rejects if the connection closes before the reply. If the client does not resend commands, ioredis 6.0 would leave
   * the promise pending in this case.
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

/**
 * Connects a client. If this fails, disconnects the client.
 *
 * @throws CommandFailure with the cause, which ioredis passes only to the event `error`
 */
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
 * Opens a connection to the server of `client`. This connection never sends a command again, so that each lost reply is reported.
 *
 * @param closed called when the connection has ended
 * @throws CommandFailure if the connection cannot be opened
 */
export async function openDedicated(client: Redis, closed: () => void): Promise<DedicatedConnection> {
  // The app may have changed the database of the client with SELECT, so `db` of the options may be outdated.
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
