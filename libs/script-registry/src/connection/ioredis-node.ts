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
 * Beginnings of the error messages with which ioredis gives up a command. If ioredis had not written the command before such an error, it
 * will never write it.
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
 * A command of ioredis that counts how often it was written to a socket. ioredis may write a command again by itself, without an event, but
 * it calls `toWritable` of the command before each write.
 * See DECISIONS.md: outcome-belongs-to-the-call
 */
export interface SentCommand extends Command {
  /** How often ioredis has written the command to a socket. */
  writes: number;
  /** Number of error replies to the command. ioredis may send a command again after an error reply, such as a redirection. */
  errorReplies: number;
}

type CommandClass = typeof Command;
type CountingClass = new (name: string, args: string[]) => SentCommand;
/** The subclass of `Command` that counts writes, for each client class, because an app may have several copies of ioredis. */
const counting = new WeakMap<object, CountingClass>();

/**
 * Creates a subclass of ioredis' class `Command` that counts writes. ioredis 5 has this class as a property of the client's class, which
 * also works for a client of another copy of ioredis.
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
 * Creates a command whose arguments ioredis sends unchanged, and whose reply has Buffers instead of strings. The method `callBuffer` of the
 * client would do the same, but may use autopipelining.
 */
export function commandFor(client: Redis, name: string, args: CommandArg[]): SentCommand {
  const command = new (counting.get(client.constructor) ?? countingClass(client.constructor))(name, []);
  // The constructor would flatten and convert the arguments, so the code below sets them. For Buffers, it must then also set `bufferMode`.
  command.args = args;
  for (let i = 0; i < args.length; i++) {
    if (typeof args[i] !== 'string') (command as unknown as { bufferMode: boolean }).bufferMode = true;
  }
  return command;
}

/**
 * Returns true for an error reply of Redis. The name of the error is checked, because the client may come from another copy of ioredis. The
 * class is checked, too, because a bundler may have shortened the name.
 */
function isReply(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { name } = error;
  return (
    name === 'ReplyError' || name === 'ErrorReply' || error instanceof (loadIoredis().ReplyError as ErrorConstructor)
  );
}

/** Returns how many writes of the command got no error reply. */
function unanswered(command: SentCommand): number {
  return command.writes - command.errorReplies;
}

/**
 * Returns true if the client wrote the command more than once, and a reply to an earlier write was lost. Call it when the reply has
 * arrived.
 */
export function wasResent(command: SentCommand): boolean {
  return unanswered(command) > 1;
}

/**
 * Lets the Cluster client of ioredis send a command again only if the error reply proves that Redis refused it. After any other error reply
 * the script may have run, so this function makes the command fail. With `resends: false`, the command also fails if a connection closes
 * before the reply.
 *
 * The client replaces the command's `reject` by a function that may send the command again. A setter for `reject` wraps that function, so
 * each error reply comes here first, and is counted.
 */
export function watchRouting(command: SentCommand, resends: boolean): void {
  const end = command.reject;
  let current = end;
  Object.defineProperty(command, 'reject', {
    get: () => current,
    // Code that reads `reject` later gets the wrapper below, not `route`, so each error passes through the wrapper.
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

/** Converts the error of a command on one connection to a CommandFailure, and counts an error reply. */
export function failureOf(command: SentCommand, error: unknown): CommandFailure {
  if (isReply(error)) command.errorReplies += 1;
  return routedFailureOf(command, error);
}

/**
 * Converts the error of a command that the Cluster client routed to a CommandFailure. Keeps only the message, because errors of ioredis
 * hold the whole command with the arguments of all calls in it.
 */
export function routedFailureOf(command: SentCommand, error: unknown): CommandFailure {
  const message = messageOf(error);
  const mayHaveRun = unanswered(command) > 0;
  if (isReply(error)) return new CommandFailure('reply', message, mayHaveRun);
  // After any other error, such as that of `commandTimeout`, ioredis may still have the command in a queue, and write it later.
  const neverWritten = !mayHaveRun && NOT_WRITTEN.some((start) => message.startsWith(start));
  return new CommandFailure(neverWritten ? 'not-sent' : 'lost', message);
}

/**
 * One connection of an ioredis client.
 *
 * Commands bypass autopipelining, which loses the keys of scripts on a Cluster. They also bypass the client's offline queue, in which a
 * command could wait beyond its deadline.
 * See DECISIONS.md: commands-bypass-client-queues
 */
export class IoredisNode implements RedisNode {
  /**
   * Functions that reject the commands without a reply when the connection closes. Empty if the client resends commands after a reconnect.
   */
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
    // The types of ioredis are wrong here: `stream` is undefined before the first connection.
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
    // All three commands are sent in one write, so that Redis usually runs them one after the other, with no command of another client in
    // between.
    stream.cork();
    const answer = sendBetweenTimes(this, name, args, took, resent);
    stream.uncork();
    return answer;
  }

  /** Removes the listeners that this object has added to the client. */
  forget(): void {
    for (const [event, handler] of this.handlers.splice(0)) this.client.off(event, handler);
  }

  /**
   * Returns the reply, or rejects when the connection closes. Without this, ioredis 6.0 would leave the promise pending if the client does
   * not resend commands.
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
