import { Command, ReplyError, type Redis } from 'ioredis';
import { messageOf } from '../../../internal/src';
import { CommandFailure, type CommandArg } from './port';
import { isRefusal } from './server-errors';

/** Beginnings of ioredis' messages for commands that it will not write any more. If `writes` is 0, it never wrote the command. */
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
  /** Number of times that the command was written. */
  writes: number;
  /** Number of error replies. ioredis may have sent the command again after each. */
  errorReplies: number;
}

type CommandClass = typeof Command;
type CountingClass = new (name: string, args: string[]) => SentCommand;
const counting = new WeakMap<CommandClass, CountingClass>();

function countingClass(base: CommandClass): CountingClass {
  class CountingCommand extends base implements SentCommand {
    writes = 0;
    errorReplies = 0;

    override toWritable(socket: object): string | Buffer {
      this.writes += 1;
      return super.toWritable(socket);
    }
  }
  counting.set(base, CountingCommand);
  return CountingCommand;
}

/**
 * Makes a command whose arguments are sent unchanged, and whose reply has Buffers for strings. `client.callBuffer` is not used,
 * because it may go through autopipelining.
 *
 * In ioredis 5 the class of commands is a property of the client's class. That class is used, so that a client of another
 * copy of ioredis works too.
 */
export function commandFor(client: Redis, name: string, args: CommandArg[]): SentCommand {
  const base = (client.constructor as { Command?: CommandClass }).Command ?? Command;
  const command = new (counting.get(base) ?? countingClass(base))(name, []);
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
  return (
    error.name === 'ReplyError' || error.name === 'ErrorReply' || error instanceof (ReplyError as ErrorConstructor)
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
  // Other errors leave it open: after `commandTimeout` the command may still be in a queue of ioredis and be written later.
  const neverWritten = !mayHaveRun && NOT_WRITTEN.some((start) => message.startsWith(start));
  return new CommandFailure(neverWritten ? 'not-sent' : 'lost', message);
}
