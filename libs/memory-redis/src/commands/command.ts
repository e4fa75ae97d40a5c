import type { Channels } from '../channels';
import type { Keyspace } from '../keyspace';
import { integer, positive } from '../numbers';
import { RedisError, refuse, SYNTAX_ERROR, type Reply } from '../reply';
import type { Session } from '../session';

/** Parts of the class Server that commands need. */
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

/** Objects that a command works with: keys, server and connection. */
export interface Context {
  readonly db: Keyspace;
  readonly server: CommandServer;
  /** State of the connection that sent the command. Commands that scripts call share a Session without a connection. */
  readonly session: Session;
}

export type Run = (context: Context, args: readonly string[]) => Reply;

export interface Command {
  /** Number of words, including the name of the command. A negative number -n means n or more. */
  readonly arity: number;
  /** True if the command may write, so that read-only scripts may not call it. */
  readonly writes: boolean;
  /** False if scripts may not call the command. */
  readonly inScripts: boolean;
  readonly run: Run;
}

export type CommandTable = Readonly<Record<string, Command | Subcommands>>;

/** A command with subcommands, such as XGROUP. Its first argument is the name of the subcommand. */
export interface Subcommands {
  readonly subcommands: Readonly<Record<string, Command>>;
}

export function reads(arity: number, run: Run): Command {
  return { arity, run, writes: false, inScripts: true };
}

export function writes(arity: number, run: Run): Command {
  return { arity, run, writes: true, inScripts: true };
}

/** Returns the same command, but scripts may not call it. */
export function notInScripts(command: Command): Command {
  return { ...command, inScripts: false };
}

/** Returns true if a command may have this number of arguments. @param words number of arguments, including the name of the command */
export function hasArity({ arity }: Command, words: number): boolean {
  return arity < 0 ? words >= -arity : words === arity;
}

export function wrongNumber(name: string): RedisError {
  return new RedisError(`ERR wrong number of arguments for '${name}' command`);
}

/** Returns the argument at `index`. The command's arity must guarantee that there is one. */
export function at(args: readonly string[], index: number): string {
  return args[index] as string;
}

/** Returns true if an argument is this word, in upper or lower case. @param word in upper case */
export function isWord(arg: string | undefined, word: string): boolean {
  return arg !== undefined && arg.length === word.length && arg.toUpperCase() === word;
}

/** Arguments `numkeys key ... side [COUNT n]` of LMPOP and ZMPOP, which take elements from the first key that exists. */
export interface FirstOfKeys {
  readonly keys: readonly string[];
  /** Argument after the keys, not checked yet: LEFT or RIGHT for LMPOP, MIN or MAX for ZMPOP. */
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

/** Arguments `key [count [word]]` of HRANDFIELD and ZRANDMEMBER. */
export interface RandomOf {
  readonly key: string;
  /** Number of items to return. Below 0: -count items, which may repeat. Undefined: one item that is not in an array. */
  readonly count: number | undefined;
  /** True if the last argument is the optional word, such as WITHSCORES. */
  readonly withValues: boolean;
}

/** Reads the arguments of HRANDFIELD and ZRANDMEMBER. @param word the optional last argument, such as WITHSCORES @throws RedisError */
export function randomOf(args: readonly string[], word: string): RandomOf {
  const [key = '', text, option] = args;
  if (text === undefined) return { key, count: undefined, withValues: false };
  const count = integer(text);
  const withValues = option !== undefined;
  if (args.length > 3 || (withValues && !isWord(option, word))) refuse(SYNTAX_ERROR);
  if (withValues && Math.abs(count) > 2 ** 62) refuse('ERR value is out of range');
  return { key, count, withValues };
}
