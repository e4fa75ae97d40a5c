import type { ArgType, ListType } from './arg-types';
import { shown } from '../../internal/src';
import { type SourceUse, sourceUse } from './lua/source-use';
import type { AnyScript, ArgSpecs, GroupBounds, ScriptDefinition, ScriptSpec } from './script-definition';
import { InvalidScriptError } from './script-registry.errors';

/** Type of the items of an array; of an array of arrays, the type of the items of the inner arrays. Other types stay as they are. */
type Items<T> = T extends readonly (infer I)[] ? (I extends readonly (infer J)[] ? J : I) : T;

/**
 * Fails to compile if `reply` takes strings although `replyBytes` is true, or Buffers although `replyBytes` is false. Looks no
 * deeper than into arrays of arrays.
 */
type FittingReply<Raw, B> =
  unknown extends Items<Raw>
    ? unknown
    : [Extract<Items<Raw>, B extends true ? string : Uint8Array>] extends [never]
      ? unknown
      : { readonly reply: B extends true ? 'with replyBytes, strings are Buffers' : 'Buffers need replyBytes: true' };

const NAME = /^[a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)+$/;
const FLAGS: readonly string[] = ['no-writes', 'allow-oom', 'allow-stale'];
const DEFAULT_MAX_CALLS = 128;
const DEFAULT_MAX_CHARS = 65_536;

function refuse(name: string, problem: string): never {
  throw new InvalidScriptError(`defineScript(${shown(name)}): ${problem}`);
}

function isList(type: ArgSpecs[string]): boolean {
  return 'item' in type;
}

function checkNames(name: string, kind: 'key' | 'argument', names: readonly string[]): void {
  // Names like "1" are refused, since Object.keys() moves them to the front, which would change the order of ARGV.
  const valid = kind === 'key' ? /^[A-Za-z_]\w*(\[\])?$/ : /^[A-Za-z_]\w*$/;
  for (const item of names) {
    if (!valid.test(item)) {
      const list = kind === 'key' ? ', and [] at the end for a list' : '';
      refuse(name, `One ${kind} is named ${shown(item)}. Expected a letter or _, then letters, digits and _${list}.`);
    }
  }
  const passed = new Set(names.map((item) => item.replace('[]', '')));
  if (passed.size !== names.length) refuse(name, `Two ${kind}s have the same name: ${names.join(', ')}.`);
}

function checkSource(name: string, source: string, keys: readonly string[], args: ArgSpecs): SourceUse {
  if (typeof source !== 'string' || source.trim() === '')
    refuse(name, `source is ${shown(source)}. Expected Lua code.`);
  if (source.startsWith('#!')) refuse(name, 'source begins with a #! line. Remove it, and name its flags in `flags`.');
  const use = sourceUse(source);
  const argNames = Object.keys(args);
  const keyList = keys.some((key) => key.endsWith('[]'));
  const argList = Object.values(args).some(isList);
  checkIndexes(name, 'KEYS', use.keyIndexes, keyList ? Infinity : keys.length, keys);
  checkIndexes(name, 'ARGV', use.argIndexes, argList ? Infinity : argNames.length, argNames);
  return use;
}

function checkShared(name: string, shared: string): SourceUse {
  const use = sourceUse(shared);
  const { keyIndexes, argIndexes, whole } = use;
  if (whole || keyIndexes.length > 0 || argIndexes.length > 0) {
    refuse(name, '`shared` reads KEYS or ARGV, but it runs once for all calls of a group. Pass them to its functions.');
  }
  return use;
}

function checkFinish(
  name: string,
  finish: string,
  source: SourceUse,
  keys: readonly string[],
  args: ArgSpecs,
): SourceUse {
  const use = sourceUse(finish);
  if (finish === '') return use;
  const { keyIndexes, argIndexes, whole } = use;
  if (whole || argIndexes.length > 0) {
    refuse(
      name,
      '`finish` reads ARGV, or KEYS other than by a literal index such as KEYS[1]. Pass it values in locals of `shared`.',
    );
  }
  checkIndexes(name, 'KEYS', keyIndexes, keys.length, keys);
  if (source.whole || keys.some((key) => key.endsWith('[]')) || Object.values(args).some(isList)) {
    refuse(
      name,
      '`finish` is not allowed in a script that takes a list, or that reads KEYS or ARGV other than by literal indexes such ' +
        'as KEYS[1]. Remove `finish`, and do its work in `source`.',
    );
  }
  return use;
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
      refuse(name, `group.${bound} is ${shown(value)}. Expected an integer from 1 to 2^53 - 1, or group: false.`);
    }
  }
  return bounds;
}

/**
 * Defines a script that a ScriptRegistry can load and run.
 *
 * The types of keys, arguments and result are inferred, so a wrong call does not compile.
 *
 * @throws InvalidScriptError if the definition is invalid, or the Lua reads, by a literal index such as `KEYS[3]`, a key or an
 *   argument that is not declared
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
  if (!NAME.test(name))
    refuse(name, 'The name is invalid. Expected <lib>.<verb> in kebab-case, such as "limits.consume".');
  checkParameters(name, keys, args);
  const use = checkSource(name, source, keys, args);
  const uses = [checkShared(name, shared), use, checkFinish(name, finish, use, keys, args)];
  const reserved = uses.find((part) => part.reserved !== undefined)?.reserved;
  if (reserved !== undefined) {
    refuse(
      name,
      `The Lua uses the name ${reserved}. Names that begin with luanest_ are reserved for the Lua of ScriptRegistry.`,
    );
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

/**
 * Returns a text that is equal for two definitions with the same Lua, parameters, flags, `timed` and `replyBytes`. `reply`,
 * `group` and `common()` do not matter.
 */
export function fingerprint({ source, shared, finish, keys, args, flags, timed, replyBytes }: AnyScript): string {
  const types = Object.entries(args as Record<string, { label: string }>).map(([name, { label }]) => [name, label]);
  return JSON.stringify([source, shared, finish, keys, types, flags, timed, replyBytes]);
}
