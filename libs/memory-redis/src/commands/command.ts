import type { Channels } from '../channels';
import type { Keyspace } from '../keyspace';
import { integer, positive } from '../numbers';
import { RedisError, refuse, SYNTAX_ERROR, type Reply } from '../reply';
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
  /** Number of arguments, with the command's name as the first one. A negative number -n means n or more. */
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

/** Returns true if a command may have this number of arguments. @param words number of arguments, with the command's name */
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

/** The arguments of a command that looks at several keys and takes from the first one that exists: `numkeys key ... side [COUNT n]`. */
export interface FirstOfKeys {
  readonly keys: readonly string[];
  /** The argument after the keys, unchecked: LEFT or RIGHT of LMPOP, MIN or MAX of ZMPOP. */
  readonly side: string;
  readonly count: number;
}

/** Reads the arguments of LMPOP and ZMPOP. @throws RedisError */
export function firstOfKeys(args: readonly string[]): FirstOfKeys {
  const NO_KEYS = 'ERR numkeys should be greater than 0';
  const NO_COUNT = 'ERR count should be greater than 0';
  const size = positive(at(args, 0), NO_KEYS) || refuse(NO_KEYS);
  const side = args[1 + size] ?? refuse(SYNTAX_ERROR);
  const options = args.slice(2 + size);
  let count: number | undefined;
  for (let index = 0; index < options.length; index += 2) {
    if (count !== undefined || index + 1 >= options.length || !isWord(options[index], 'COUNT')) refuse(SYNTAX_ERROR);
    count = positive(at(options, index + 1), NO_COUNT) || refuse(NO_COUNT);
  }
  return { keys: args.slice(1, 1 + size), side, count: count ?? 1 };
}

/** The arguments `key [count [word]]` of HRANDFIELD and ZRANDMEMBER. */
export interface RandomOf {
  readonly key: string;
  /** Below 0 if items may be chosen more than once; undefined if one item is wanted, without an array. */
  readonly count: number | undefined;
  /** True if `word` is there. */
  readonly withValues: boolean;
}

/** Reads the arguments of HRANDFIELD and ZRANDMEMBER. @param word such as WITHSCORES @throws RedisError */
export function randomOf(args: readonly string[], word: string): RandomOf {
  const [key = '', text, option] = args;
  if (text === undefined) return { key, count: undefined, withValues: false };
  const count = integer(text);
  const withValues = option !== undefined;
  if (args.length > 3 || (withValues && !isWord(option, word))) refuse(SYNTAX_ERROR);
  if (withValues && Math.abs(count) > 2 ** 62) refuse('ERR value is out of range');
  return { key, count, withValues };
}
