import type { ArgType, ListType } from './arg-types';
import { shown } from '../../internal/src';
import { sourceUse } from './lua/source-use';
import { InvalidScriptError } from './script-registry.errors';

/** A flag of the `#!lua` line, see the documentation of Redis. */
export type ScriptFlag = 'no-writes' | 'allow-oom' | 'allow-stale';

/** Limits of a group; integers of at least 1. */
export interface GroupBounds {
  /** Most calls in one EVALSHA. Default 128. Choose a small number if a call's work grows with its arguments. */
  readonly maxCalls?: number;
  /** Most characters of keys and arguments in one EVALSHA. A larger call is sent alone. Default 65,536. */
  readonly maxChars?: number;
}

/** Reply of a script as `reply` gets it: integers, strings, null and arrays of these. */
export type ScriptReply = number | string | null | ScriptReply[];

/** Reply of a script with `replyBytes`: integers, strings as Buffers, null and arrays of these. */
export type BytesReply = number | Buffer | null | BytesReply[];

/** Type of the items of an array and of the arrays in it; any other type stays as it is. */
type Items<T> = T extends readonly (infer I)[] ? (I extends readonly (infer J)[] ? J : I) : T;

/** Fails to compile if `reply` takes strings although `replyBytes` is true, or Buffers although it is false. */
type FittingReply<Raw, B> =
  unknown extends Items<Raw>
    ? unknown
    : [Extract<Items<Raw>, B extends true ? string : Uint8Array>] extends [never]
      ? unknown
      : { readonly reply: B extends true ? 'with replyBytes, strings are Buffers' : 'Buffers need replyBytes: true' };

type ArgSpec = ArgType<never> | ListType<never>;
/** Names and types of the arguments, in the order of ARGV. Only the last may be a `list`. */
export type ArgSpecs = Readonly<Record<string, ArgSpec>>;

/** Values of the declared keys. A key declared as `name[]` takes a list, under the name without brackets. */
export type KeysOf<K extends readonly string[]> = {
  readonly [N in K[number] as N extends `${infer Base}[]` ? Base : N]: N extends `${string}[]`
    ? readonly string[]
    : string;
};

/** Values of the declared arguments. */
export type ArgsOf<A> = {
  readonly [N in keyof A]: A[N] extends ListType<infer T> ? readonly T[] : A[N] extends ArgType<infer T> ? T : never;
};

/** Keys and arguments of a call. */
export interface ScriptInput<K extends readonly string[], A> {
  readonly keys: KeysOf<K>;
  readonly args: ArgsOf<A>;
}

/** Definition of a script, for `defineScript`. */
export interface ScriptSpec<K extends readonly string[], A, Raw, R> {
  /** `<lib>.<verb>`, kebab-case; unique within a registry. */
  readonly name: string;
  /** The Lua source, without a `#!lua` line. */
  readonly source: string;
  /**
   * Lua that runs before the source, once for all calls of a group: functions and constants. It must not read KEYS or ARGV.
   * All calls of a group share the values that it reads, such as `redis.call('TIME')`. Default none.
   */
  readonly shared?: string;
  /**
   * Lua that runs after all calls of a group, for the keys of each call: writes that several calls can make together. It may
   * read KEYS by literal indexes, but not ARGV, and it sees the locals of `shared`. Once it ran for some keys, it must have
   * nothing left to do for another call with the same keys. It also runs if a call raised an error. If it raises an error
   * itself, every call of the group rejects. It cannot be used in scripts with lists, or that read KEYS or ARGV other than by
   * literal indexes. Default none.
   */
  readonly finish?: string;
  /** Names of the keys in the order of KEYS; at least one. The last may end in `[]` and then takes a list. */
  readonly keys: K;
  /** Names and types of the arguments in the order of ARGV. */
  readonly args: A;
  /**
   * Converts Redis' reply to the result. It must not throw for a reply that the script can return.
   *
   * `atUs` is Redis' time of the call, µs since 1970, if the script is `timed`, else NaN.
   */
  readonly reply: (raw: Raw, atUs: number) => R;
  /**
   * True: strings of the reply are a `Buffer` with the exact bytes. False: they are decoded as UTF-8, which changes bytes that
   * are not valid UTF-8. Default false.
   */
  readonly replyBytes?: boolean;
  /**
   * True: `reply` gets Redis' time of the call. It is the same time that the script reads by `redis.call('TIME')`. All calls of
   * a group have the same time, so do not use it as an id. False: in a group each reading is later than the one before.
   * Default false.
   */
  readonly timed?: boolean;
  /** Flags for the `#!lua` line. Default none: Redis then refuses the script while it accepts no writes. */
  readonly flags?: readonly ScriptFlag[];
  /** Limits of a group, or false to send each call alone. */
  readonly group?: GroupBounds | false;
}

/** A defined script: its source, its parameters and its `reply` function, with inferred types. */
export interface ScriptDefinition<
  K extends readonly string[] = readonly string[],
  A = ArgSpecs,
  R = unknown,
> extends Required<Omit<ScriptSpec<K, A, never, R>, 'reply' | 'group'>> {
  readonly reply: (raw: never, atUs: number) => R;
  readonly group: Required<GroupBounds> | false;
}

/** A script with any parameters. */
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
    // Object.keys() moves names like "1" to the front, which would change the order of ARGV.
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
 * Defines a script that a registry can load and run.
 *
 * The types of keys, arguments and result are inferred, so a wrong call does not compile.
 *
 * @throws InvalidScriptError if the definition is invalid, or does not fit the source
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

/** Returns a text that is equal for two definitions of the same script. */
export function fingerprint({ source, shared, finish, keys, args, flags, timed, replyBytes }: AnyScript): string {
  const types = Object.entries(args as Record<string, { label: string }>).map(([name, { label }]) => [name, label]);
  return JSON.stringify([source, shared, finish, keys, types, flags, timed, replyBytes]);
}
