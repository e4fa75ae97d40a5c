import type { ArgType, ListType } from './arg-types';
import { shown } from '../../internal/src';
import { sourceUse } from './lua/source-use';
import { InvalidScriptError } from './script-registry.errors';

/** A flag of Redis' `#!lua` line that a luanest script may carry. */
export type ScriptFlag = 'no-writes' | 'allow-oom' | 'allow-stale';

/** Bounds of a group; each at least 1. */
export interface GroupBounds {
  /** Most calls that leave as one EVALSHA. Default 128; 1 for work that grows with the arguments. */
  readonly maxCalls?: number;
  /** Most characters of keys and arguments in one EVALSHA; a single larger call still goes, alone. Default 65,536. */
  readonly maxChars?: number;
}

/** What Redis answers to a script, as the client decodes it: integers, strings, null and arrays of these. */
export type ScriptReply = number | string | null | ScriptReply[];

/** What `reply` of a script with `replyBytes` gets: integers, the bytes of strings, null and arrays of these. */
export type BytesReply = number | Buffer | null | BytesReply[];

/** The items of an array, and of arrays in it; any other type as it is. */
type Items<T> = T extends readonly (infer I)[] ? (I extends readonly (infer J)[] ? J : I) : T;

/** Fails to compile where `reply` reads text from a reply of bytes, or bytes from one of text. */
type FittingReply<Raw, B> =
  unknown extends Items<Raw>
    ? unknown
    : [Extract<Items<Raw>, B extends true ? string : Uint8Array>] extends [never]
      ? unknown
      : { readonly reply: B extends true ? 'with replyBytes, strings are Buffers' : 'Buffers need replyBytes: true' };

type ArgSpec = ArgType<never> | ListType<never>;
/** Names of arguments, in the order of ARGV, with their types; only the last may be a `list`. */
export type ArgSpecs = Readonly<Record<string, ArgSpec>>;

/** Values for the declared keys; a name that ends in `[]` takes a list and is spelled without the brackets. */
export type KeysOf<K extends readonly string[]> = {
  readonly [N in K[number] as N extends `${infer Base}[]` ? Base : N]: N extends `${string}[]`
    ? readonly string[]
    : string;
};

/** Values for the declared arguments. */
export type ArgsOf<A> = {
  readonly [N in keyof A]: A[N] extends ListType<infer T> ? readonly T[] : A[N] extends ArgType<infer T> ? T : never;
};

/** What a call of a script takes. */
export interface ScriptInput<K extends readonly string[], A> {
  readonly keys: KeysOf<K>;
  readonly args: ArgsOf<A>;
}

/** What `defineScript` takes. */
export interface ScriptSpec<K extends readonly string[], A, Raw, R> {
  /** `<lib>.<verb>`, kebab-case; unique within a registry. */
  readonly name: string;
  /** The Lua source, exactly as it stands in the `.lua` file. */
  readonly source: string;
  /**
   * Lua that runs before the source, once for all calls of a group: functions and constants. It reads neither KEYS nor
   * ARGV. What it reads itself, such as `redis.call('TIME')`, all calls of the group share. Default none.
   */
  readonly shared?: string;
  /**
   * Lua that runs after all calls of a group, for the keys of each: what they write together, once. It reads KEYS by literal
   * indexes and no ARGV, sees the locals of `shared`, and must leave nothing to do for another call with the same keys. It runs
   * also when a call raised an error. When it raises one itself, every call of the group is told that it failed. Not for scripts
   * with lists, or that read KEYS or ARGV otherwise than by literal indexes. Default none.
   */
  readonly finish?: string;
  /** Names of the keys in the order of KEYS; at least one; the last may end in `[]` and take a list. */
  readonly keys: K;
  /** Names and types of the arguments in the order of ARGV. */
  readonly args: A;
  /**
   * Turns Redis' reply into the result. Runs once per call; must not throw for a reply that the script can give.
   *
   * `atUs` is Redis' time of the call, us since 1970, where the script is `timed`, else NaN.
   */
  readonly reply: (raw: Raw, atUs: number) => R;
  /**
   * Whether strings of the reply come as `Buffer`, with the exact bytes. Otherwise they are decoded as UTF-8, which changes
   * bytes that are not valid UTF-8. Default false.
   */
  readonly replyBytes?: boolean;
  /**
   * Whether `reply` gets Redis' time of the call. It is the time that the script itself reads by `redis.call('TIME')`; all
   * calls of a group have the same, so it is not an identity. Default false: in a group each reading is later than the last.
   */
  readonly timed?: boolean;
  /** Flags for the `#!lua` line. Default none: Redis then refuses the script when it may not write. */
  readonly flags?: readonly ScriptFlag[];
  /** Bounds of a group, or false to send each call alone, in the script's plain form. */
  readonly group?: GroupBounds | false;
}

/** A script as a value: its source, its parameters and how to read its reply, typed by inference. */
export interface ScriptDefinition<
  K extends readonly string[] = readonly string[],
  A = ArgSpecs,
  R = unknown,
> extends Required<Omit<ScriptSpec<K, A, never, R>, 'reply' | 'group'>> {
  readonly reply: (raw: never, atUs: number) => R;
  readonly group: Required<GroupBounds> | false;
}

/** Any script, whatever its parameters. */
export type AnyScript = ScriptDefinition<readonly string[], unknown>;

const NAME = /^[a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)+$/;
const FLAGS: readonly string[] = ['no-writes', 'allow-oom', 'allow-stale'];
const DEFAULT_MAX_CALLS = 128;
const DEFAULT_MAX_CHARS = 65_536;

function refuse(name: string, problem: string): never {
  throw new InvalidScriptError(`defineScript(${shown(name)}): ${problem}`);
}

function isList(type: ArgSpec): boolean {
  return 'item' in type;
}

function checkNames(name: string, kind: 'key' | 'argument', names: readonly string[]): void {
  for (const item of names) {
    // Object.keys() moves integer-like names to the front, which would shuffle KEYS or ARGV.
    if (!/^[A-Za-z_]\w*(\[\])?$/.test(item)) {
      refuse(name, `The name of one ${kind} is ${shown(item)}. Expected letters, digits and _, not a digit first.`);
    }
  }
  if (new Set(names).size !== names.length) refuse(name, `Two ${kind}s have the same name: ${names.join(', ')}.`);
}

function checkSource(name: string, source: string, keys: readonly string[], args: ArgSpecs): void {
  if (typeof source !== 'string' || source.trim() === '') refuse(name, `source is ${shown(source)}. Expected Lua.`);
  if (source.startsWith('#!')) refuse(name, 'source begins with a #! line. Remove it, and name its flags in `flags`.');
  const use = sourceUse(source);
  const argNames = Object.keys(args);
  const keyList = keys.some((key) => key.endsWith('[]'));
  const argList = Object.values(args).some(isList);
  checkIndexes(name, 'KEYS', use.keyIndexes, keyList ? Infinity : keys.length, keys);
  checkIndexes(name, 'ARGV', use.argIndexes, argList ? Infinity : argNames.length, argNames);
}

function checkShared(name: string, shared: string): void {
  const { keyIndexes, argIndexes, whole } = sourceUse(shared);
  if (whole || keyIndexes.length > 0 || argIndexes.length > 0) {
    refuse(name, '`shared` reads KEYS or ARGV, but it runs once for all calls of a group. Pass them to its functions.');
  }
}

function checkFinish(name: string, finish: string, source: string, keys: readonly string[], args: ArgSpecs): void {
  if (finish === '') return;
  const { keyIndexes, argIndexes, whole } = sourceUse(finish);
  if (whole || argIndexes.length > 0) {
    refuse(name, '`finish` reads ARGV, or KEYS without a literal index. Keep its values in locals of `shared`.');
  }
  checkIndexes(name, 'KEYS', keyIndexes, keys.length, keys);
  if (sourceUse(source).whole || keys.some((key) => key.endsWith('[]')) || Object.values(args).some(isList)) {
    refuse(
      name,
      '`finish` cannot be used with a list, or with KEYS or ARGV without a literal index. Remove it, and write in `source`.',
    );
  }
}

function checkIndexes(
  name: string,
  table: string,
  used: readonly number[],
  most: number,
  names: readonly string[],
): void {
  const bad = used.find((index) => !Number.isInteger(index) || index < 1 || index > most);
  if (bad === undefined) return;
  refuse(
    name,
    `The Lua reads ${table}[${bad}], but the script declares ${names.length}: ${names.join(', ') || 'none'}. Indexes start at 1.`,
  );
}

function checkParameters(name: string, keys: readonly string[], args: ArgSpecs): void {
  if (keys.length === 0)
    refuse(name, '`keys` is empty. Expected at least one key, since Redis Cluster finds the node by it.');
  checkNames(name, 'key', keys);
  checkNames(name, 'argument', Object.keys(args));
  if (keys.slice(0, -1).some((key) => key.endsWith('[]'))) refuse(name, 'A list of keys must be the last key.');
  if (Object.values(args).slice(0, -1).some(isList)) refuse(name, 'A list argument must be the last argument.');
}

function resolveGroup(name: string, group: GroupBounds | false | undefined): Required<GroupBounds> | false {
  if (group === false) return false;
  const bounds = { maxCalls: group?.maxCalls ?? DEFAULT_MAX_CALLS, maxChars: group?.maxChars ?? DEFAULT_MAX_CHARS };
  for (const [bound, value] of Object.entries(bounds)) {
    if (!Number.isSafeInteger(value) || value < 1) {
      refuse(name, `group.${bound} is ${shown(value)}. Expected an integer of at least 1, or group: false.`);
    }
  }
  return bounds;
}

/**
 * Makes a script a value that a registry can load and run.
 *
 * Keys, arguments and result are inferred, so a wrong call fails to compile.
 *
 * @throws InvalidScriptError when the definition contradicts itself or the source
 */
export function defineScript<
  const K extends readonly string[],
  const A extends Readonly<Record<string, unknown>>,
  Raw,
  R,
  const B extends boolean = false,
>(
  spec: ScriptSpec<K, A & { readonly [N in keyof A]: ArgType<never> | ListType<never> }, Raw, R> &
    FittingReply<Raw, B> & { readonly replyBytes?: B },
): ScriptDefinition<K, A, R> {
  const { name, source, shared = '', finish = '', keys, args, reply, timed = false, replyBytes = false } = spec;
  if (!NAME.test(name)) refuse(name, 'The name is invalid. Expected <lib>.<verb> in kebab-case.');
  checkParameters(name, keys, args);
  checkSource(name, source, keys, args);
  checkShared(name, shared);
  checkFinish(name, finish, source, keys, args);
  const { reserved } = sourceUse(shared, source, finish);
  if (reserved !== undefined) {
    refuse(name, `The Lua uses the name ${reserved}. Names that begin with luanest_ are reserved for the registry.`);
  }
  const flags = spec.flags ?? [];
  const unknown = flags.find((flag) => !FLAGS.includes(flag));
  if (unknown !== undefined) refuse(name, `flags contains ${shown(unknown)}. Known flags: ${FLAGS.join(', ')}.`);
  return Object.freeze({
    name,
    source,
    shared,
    finish,
    keys,
    args,
    reply,
    replyBytes,
    timed,
    flags,
    group: resolveGroup(name, spec.group),
  });
}

/** Returns what makes two definitions of one name the same script. */
export function fingerprint({ source, shared, finish, keys, args, flags, timed, replyBytes }: AnyScript): string {
  const types = Object.entries(args as Record<string, { label: string }>).map(([name, { label }]) => [name, label]);
  return JSON.stringify([source, shared, finish, keys, types, flags, timed, replyBytes]);
}
