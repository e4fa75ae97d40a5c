import { Command, ReplyError, type Redis } from 'ioredis';
import { CommandFailure, raisedByScript, type CommandArg } from './port';

/** Messages of ioredis for commands that it did not write and will not write. */
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
 * A command that counts how often ioredis wrote it to a socket. ioredis sends commands again by itself, on several paths
 * and without an event; each of them writes the command by `toWritable`.
 * See DECISIONS.md: outcome-belongs-to-the-call
 */
export interface SentCommand extends Command {
  /** Times that the command was written. */
  writes: number;
  /** Error replies of Redis. Each answers one writing, and of each but the last ioredis sent the command again. */
  errorReplies: number;
}

type CommandClass = typeof Command;
const counting = new WeakMap<CommandClass, new (name: string, args: string[]) => SentCommand>();

function countingClass(base: CommandClass): new (name: string, args: string[]) => SentCommand {
  const known = counting.get(base);
  if (known) return known;
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
 * Makes a command that is sent as it is, with bytes for text in its reply. `client.call` would do the same, but
 * autopipelining takes hold of it.
 *
 * ioredis 5 names its class on the client; a client of another copy than the app's own is thereby served, too.
 */
export function commandFor(client: Redis, name: string, args: CommandArg[]): SentCommand {
  const own = (client.constructor as { Command?: CommandClass }).Command;
  const command = new (countingClass(own ?? Command))(name, []);
  // Set afterwards: the constructor flattens and converts its arguments, which need neither. It would also note whether
  // there are bytes among them, which are written in another way.
  command.args = args;
  if (args.some(isBytes)) (command as unknown as { bufferMode: boolean }).bufferMode = true;
  return command;
}

function isBytes(arg: CommandArg): boolean {
  return typeof arg !== 'string';
}

/** By name, since the client may be of another copy of ioredis; by class, since a bundler may shorten the names of classes. */
function isReply(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return (
    error.name === 'ReplyError' || error.name === 'ErrorReply' || error instanceof (ReplyError as ErrorConstructor)
  );
}

/** Times that the command was written and Redis did not answer. */
function unanswered(command: SentCommand): number {
  return command.writes - command.errorReplies;
}

/**
 * Watches the errors that a Cluster's routing meets on the command's way. A Cluster puts a `reject` of its own on a
 * command, and sends again by it.
 *
 * Ends the command, without a further sending, at an error that the script itself raised, since the script ran; and with
 * `resends: false` also when a connection closed while the command was not answered.
 */
export function watchRouting(command: SentCommand, resends: boolean): void {
  const end = command.reject;
  let current = end;
  Object.defineProperty(command, 'reject', {
    get: () => current,
    // What is read is a function of its own, so that the Cluster's `reject` never calls itself.
    set: (route: typeof end) => {
      current = (error: Error): void => {
        const reply = isReply(error);
        if (reply) command.errorReplies += 1;
        const ends = reply ? raisedByScript(error.message) : !resends && unanswered(command) > 0;
        (ends ? end : route).call(command, error);
      };
    },
  });
}

/** Turns what ioredis rejected a command with, that was sent to one connection, into a failure. */
export function failureOf(command: SentCommand, error: unknown): CommandFailure {
  if (isReply(error)) command.errorReplies += 1;
  return routedFailureOf(command, error);
}

/**
 * Turns what a Cluster rejected a command of `watchRouting` with into a failure. Only the message is kept: ioredis hangs
 * the command on its errors, with the arguments of every call of a group.
 */
export function routedFailureOf(command: SentCommand, error: unknown): CommandFailure {
  const { message } = error instanceof Error ? error : new Error(String(error));
  const mayHaveRun = unanswered(command) > 0;
  if (isReply(error)) return new CommandFailure('reply', message, mayHaveRun);
  // A command that ioredis only gave up on, as after `commandTimeout`, may still be in a queue and be written later.
  const over = !mayHaveRun && NOT_WRITTEN.some((start) => message.startsWith(start));
  return new CommandFailure(over ? 'not-sent' : 'lost', message);
}
