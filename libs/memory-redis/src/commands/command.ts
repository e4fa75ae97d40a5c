import type { Channels } from '../channels';
import type { Keyspace } from '../keyspace';
import { RedisError, type Reply } from '../reply';
import type { Session } from '../session';

/** The part of the server that commands use. */
export interface CommandServer {
  readonly channels: Channels;
  readonly sessions: ReadonlySet<Session>;
  readonly scripts: {
    has(sha: string): boolean;
    load(source: string): string;
    run(sha: string, keys: readonly string[], args: readonly string[], readOnly: boolean): Reply;
    flush(): void;
  };
  execute(session: Session, words: readonly string[]): Reply;
}

/** The keys, server and connection of a command. */
export interface Context {
  readonly db: Keyspace;
  readonly server: CommandServer;
  /** The connection that sent the command, or the session of scripts if a script calls it. */
  readonly session: Session;
}

export type Run = (context: Context, args: readonly string[]) => Reply;

export interface Command {
  /** Number of arguments with the command's name; negative for at least as many. */
  readonly arity: number;
  /** True if read-only scripts may not call it. */
  readonly writes: boolean;
  /** False if no script may call it. */
  readonly inScripts: boolean;
  readonly run: Run;
}

export type CommandTable = Readonly<Record<string, Command | Subcommands>>;

/** A command whose first argument names a subcommand. */
export interface Subcommands {
  readonly subcommands: Readonly<Record<string, Command>>;
}

export function reads(arity: number, run: Run): Command {
  return { arity, run, writes: false, inScripts: true };
}

export function writes(arity: number, run: Run): Command {
  return { arity, run, writes: true, inScripts: true };
}

/** A command that scripts cannot call. */
export function notInScripts(command: Command): Command {
  return { ...command, inScripts: false };
}

/** Returns true if a command may be called with this number of words. */
export function hasArity({ arity }: Command, words: number): boolean {
  return arity < 0 ? words >= -arity : words === arity;
}

export function wrongNumber(name: string): RedisError {
  return new RedisError(`ERR wrong number of arguments for '${name}' command`);
}

/** Returns an argument that the arity of the command guarantees. */
export function at(args: readonly string[], index: number): string {
  return args[index] as string;
}

/** Returns true if an argument is a word, in any case. */
export function isWord(arg: string | undefined, word: string): boolean {
  return arg !== undefined && arg.length === word.length && arg.toUpperCase() === word;
}
