import type { ArgType, ListType } from './arg-types';
import { shown } from '../../internal/src';
import { sectionsOf, withoutComments } from './pipe/forms';
import type { ScriptDefinition, ArgSpecs, GroupOptions, ScriptSpec } from './script-definition';
import { SetupError } from './script-registry.errors';

type Items<T> = T extends readonly (infer I)[] ? (I extends readonly (infer J)[] ? J : I) : T;

/**
 * Makes the compiler report an error if `reply` takes strings although `replyBytes` is true, or Buffers although it is false. Also looks
 * at the elements of arrays, and of arrays in arrays.
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

function refuse(name: string, problem: string): never {
  throw new SetupError(`defineScript(${shown(name)}): ${problem}`, { code: 'INVALID_SCRIPT' });
}

function isList(type: ArgSpecs[string]): boolean {
  return 'item' in type;
}

function checkNames(name: string, kind: 'key' | 'argument', names: readonly string[]): void {
  // Object.keys() returns names such as "1" first, which would change the order of ARGV. So such names are refused.
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

function checkSource(name: string, source: string, keys: readonly string[], args: ArgSpecs): void {
  if (typeof source !== 'string' || source.trim() === '')
    refuse(name, `source is ${shown(source)}. Expected Lua code.`);
  if (source.startsWith('#!'))
    refuse(name, 'source begins with a #! line. Remove the line, and put its flags into the option `flags`.');
  const { shared, call, finish } = sectionsOf(source);
  const code = withoutComments(source);
  if (/\bluanest_/.test(code)) {
    refuse(
      name,
      'The Lua uses a name that begins with luanest_. These names are reserved for the Lua of ScriptRegistry.',
    );
  }
  if (/\b(KEYS|ARGV)\b/.test(withoutComments(shared))) {
    refuse(
      name,
      'The Lua above the line `-- @call` reads KEYS or ARGV. It runs once for several calls that are sent together, so it has no KEYS or ' +
        'ARGV. Read them below `-- @call`, and pass them to the functions as arguments.',
    );
  }
  if (/\bARGV\b/.test(withoutComments(finish))) {
    refuse(
      name,
      'The Lua below the line `-- @finish` reads ARGV. It runs after all calls that are sent together, so it has no ARGV. Declare local ' +
        'variables above `-- @call`, and let the Lua below `-- @call` store in them what the Lua below `-- @finish` needs.',
    );
  }
  const argNames = Object.keys(args);
  const lists = { keys: keys.some((key) => key.endsWith('[]')), args: Object.values(args).some(isList) };
  checkIndexes(name, 'KEYS', call + finish, lists.keys ? Infinity : keys.length, keys);
  checkIndexes(name, 'ARGV', call, lists.args ? Infinity : argNames.length, argNames);
}

function checkIndexes(name: string, table: string, lua: string, most: number, names: readonly string[]): void {
  const used = [...withoutComments(lua).matchAll(new RegExp(`\\b${table}\\[ *(-?[\\d.]+) *\\]`, 'g'))];
  const bad = used
    .map(([, index]) => Number(index))
    .find((index) => !(Number.isInteger(index) && index >= 1 && index <= most));
  if (bad === undefined) return;
  refuse(
    name,
    `The Lua reads ${table}[${bad}], but the script declares ${names.length}: ${names.join(', ') || 'none'}. Declare the missing one in defineScript(), or correct the index. Indexes start at 1.`,
  );
}

function checkParameters(name: string, keys: readonly string[], args: ArgSpecs): void {
  if (keys.length === 0)
    refuse(name, '`keys` is empty. Expected at least one key, because Redis Cluster finds the node by the key.');
  checkNames(name, 'key', keys);
  checkNames(name, 'argument', Object.keys(args));
  if (keys.slice(0, -1).some((key) => key.endsWith('[]')))
    refuse(name, 'A list of keys (`name[]`) is not the last of `keys`. Put the list at the end.');
  if (Object.values(args).slice(0, -1).some(isList))
    refuse(name, 'A list argument is not the last of `args`. Put the list at the end.');
}

function resolveGroup(name: string, group: GroupOptions | false | undefined): ScriptDefinition['group'] {
  if (group === false) return false;
  const maxCalls = group?.maxCalls ?? DEFAULT_MAX_CALLS;
  if (!Number.isSafeInteger(maxCalls) || maxCalls < 1) {
    refuse(name, `group.maxCalls is ${shown(maxCalls)}. Expected an integer from 1 to 2^53 - 1, or group: false.`);
  }
  return { maxCalls, source: group?.source };
}

/**
 * Defines a script that a ScriptRegistry can load and run.
 *
 * The types of keys, arguments and result are inferred, so a wrong call does not compile.
 *
 * @throws SetupError if the definition is invalid, or if the Lua reads a key or an argument that is not declared. Only literal indexes,
 *   such as `KEYS[3]`, are checked
 *
 * @example
 * ```ts
 * const buy = defineScript({
 *   name: 'stock.buy',
 *   keys: ['stock'],
 *   args: { count: int },
 *   reply: Number,
 *   source: `
 *     local left = tonumber(redis.call('GET', KEYS[1]) or 0)
 *     if left < tonumber(ARGV[1]) then return -1 end
 *     return redis.call('DECRBY', KEYS[1], ARGV[1])
 *   `,
 * });
 * ```
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
  const { name, source, keys, args, reply, replyBytes = false } = spec;
  if (!NAME.test(name))
    refuse(name, 'The name of the script is invalid. Expected <lib>.<verb> in kebab-case, such as "limits.consume".');
  checkParameters(name, keys, args);
  checkSource(name, source, keys, args);
  if (sectionsOf(source).finish !== '')
    refuse(name, 'source has a line `-- @finish`, which only group.source may have. Move that part to group.source.');
  const group = resolveGroup(name, spec.group);
  if (group !== false && group.source !== undefined) checkSource(name, group.source, keys, args);
  if (typeof reply !== 'function') refuse(name, `reply is ${shown(reply)}. Expected a function.`);
  const flags = spec.flags ?? [];
  const unknown = flags.find((flag) => !FLAGS.includes(flag));
  if (unknown !== undefined) refuse(name, `flags contains ${shown(unknown)}. Known flags: ${FLAGS.join(', ')}.`);
  return Object.freeze({ name, source, keys, args, reply, replyBytes, flags, group });
}

/**
 * Returns a text that identifies the content of a script. Two scripts with the same name conflict if their texts differ. The text depends
 * on the Lua, the parameters, the flags and `replyBytes`, but not on the function `reply` and `maxCalls`.
 */
export function fingerprint({ source, group, keys, args, flags, replyBytes }: ScriptDefinition): string {
  const types = Object.entries(args as Record<string, { label: string }>).map(([name, { label }]) => [name, label]);
  return JSON.stringify([source, group === false ? undefined : group.source, keys, types, flags, replyBytes]);
}
