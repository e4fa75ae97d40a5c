import { splitLua, type LuaToken } from './tokens';

/**
 * Returns true if the name at index `at` follows `.` or `:`, so that it is a field of a table. Fields in a table constructor are not
 * found.
 */
export function isField(tokens: readonly LuaToken[], at: number): boolean {
  const before = tokens[at - 1]?.text;
  return (before === '.' || before === ':') && textAt(tokens, at - 2) !== '.';
}

/** Returns the number in `NAME[number]` at index `at`, and the index of the closing bracket; undefined for any other use. */
export function literalIndex(tokens: readonly LuaToken[], at: number): { end: number; index: number } | undefined {
  const number = tokens[at + 2];
  if (number?.kind !== 'number' || textAt(tokens, at + 1) !== '[' || textAt(tokens, at + 3) !== ']') return undefined;
  return { end: at + 3, index: Number(number.text) };
}

export function textAt(tokens: readonly LuaToken[], at: number): string {
  return tokens[at]?.text ?? '';
}

const TIME_CALL = ['redis', '.', 'call', '(', /^(['"])TIME\1$/i, ')'];
export const TIME_CALL_LENGTH = TIME_CALL.length;

export function isTimeCall(tokens: readonly LuaToken[], at: number): boolean {
  if (textAt(tokens, at) !== 'redis' || isField(tokens, at)) return false;
  return TIME_CALL.every((part, offset) => {
    const text = textAt(tokens, at + offset);
    return typeof part === 'string' ? text === part : part.test(text);
  });
}

/**
 * Returns true if the Lua calls `redis.call('TIME')` at one place only, to assign the result, and not in a function or a loop. Then
 * no other part of the Lua can see a change of that result.
 */
export function readsTimeOnce(...texts: readonly string[]): boolean {
  const tokens = texts.flatMap((text) => splitLua(text).code);
  const calls: number[] = [];
  for (let at = 0; at < tokens.length; at++) if (isTimeCall(tokens, at)) calls.push(at);
  const [at = 0] = calls;
  const repeats = tokens.slice(0, at).some(({ text }) => ['function', 'for', 'while', 'repeat'].includes(text));
  return calls.length === 1 && textAt(tokens, at - 1) === '=' && !repeats;
}

/** How the Lua of a script uses KEYS and ARGV, and how a call could affect other calls of its group. */
export interface SourceUse {
  readonly keyIndexes: readonly number[];
  readonly argIndexes: readonly number[];
  /** True if KEYS or ARGV are used other than by reading a literal index, such as in a loop or as a parameter. */
  readonly whole: boolean;
  /** Reason why calls must be sent alone. Undefined if the Lua provably does not affect other calls of a group. */
  readonly alone: string | undefined;
  /** First name that begins with `luanest_`, which is reserved for Lua that luanest adds. Undefined if the Lua has no such name. */
  readonly reserved: string | undefined;
  readonly varargs: boolean;
  /** True if the Lua uses metatables, so that a reply may have one. */
  readonly metatables: boolean;
  /** True if `redis.call('TIME')` is called, and `redis` is used only as `redis.<field>`. */
  readonly readsTime: boolean;
  /**
   * Which of `tonumber` and `type` the Lua only calls, and never assigns, declares or passes on. These may be declared as
   * locals, which are faster.
   */
  readonly onlyCalled: readonly string[];
}

/** Globals that give access to code or state that all calls of a group share. */
const REACHING = ['_G', 'getfenv', 'setfenv', 'load', 'loadstring', 'collectgarbage', 'gcinfo'];
const METATABLES = ['setmetatable', 'getmetatable', 'newproxy'];
/** Globals whose uses `sourceUse` looks at one by one. */
const READ = new Set([...REACHING, ...METATABLES, 'redis', 'math', 'KEYS', 'ARGV']);
/** Fields of `redis` whose use does not affect the next call of a group. */
const HARMLESS = /^(call|pcall|error_reply|status_reply|sha1hex|log|LOG_\w+|acl_check_cmd|REDIS_VERSION(_NUM)?)$/;
/** Keywords of Lua. The tokenizer returns them as names, but they are not variables. */
const KEYWORDS = new Set(
  'and break do else elseif end false for function if in local nil not or repeat return then true until while'.split(
    ' ',
  ),
);
const CLOSING = new Map([
  ['(', ')'],
  ['[', ']'],
  ['{', '}'],
]);

/** Analyses how Lua uses KEYS, ARGV and state that calls share. Names in comments and strings are ignored. */
export function sourceUse(...texts: readonly string[]): SourceUse {
  const tokens = texts.flatMap((text) => splitLua(text).code.concat({ kind: 'symbol', text: ';' }));
  const indexes = { KEYS: [] as number[], ARGV: [] as number[] };
  const found = { whole: false, varargs: false, metatables: false, time: false, ownRedis: true };
  let [alone, reserved]: (string | undefined)[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const { kind, text } = tokens[at] as LuaToken;
    if (kind === 'symbol' && text === '.' && textAt(tokens, at + 1) === '.' && textAt(tokens, at + 2) === '.') {
      found.varargs = true;
      alone ??= 'uses ...';
    }
    if (kind !== 'name') continue;
    if (text.startsWith('luanest_')) reserved ??= text;
    if (!READ.has(text) || isField(tokens, at)) continue;
    alone ??= reasonAt(tokens, at);
    // _G itself has a metatable, which refuses unknown fields.
    if (METATABLES.includes(text) || text === '_G') found.metatables = true;
    if (text === 'redis' && textAt(tokens, at + 1) !== '.') found.ownRedis = false;
    if (isTimeCall(tokens, at)) found.time = true;
    if (text !== 'KEYS' && text !== 'ARGV') continue;
    const use = literalIndex(tokens, at);
    if (use !== undefined) indexes[text].push(use.index);
    if (use === undefined || (isAssigned(tokens, use.end) && !inBrackets(tokens, at))) found.whole = true;
  }
  return {
    keyIndexes: indexes.KEYS,
    argIndexes: indexes.ARGV,
    whole: found.whole,
    alone: alone ?? (onlyCalled(tokens, 'pcall', [',']) ? undefined : 'gives pcall another meaning'),
    reserved,
    varargs: found.varargs,
    metatables: found.metatables,
    readsTime: found.time && found.ownRedis,
    onlyCalled: ['tonumber', 'type'].filter((name) => onlyCalled(tokens, name)),
  };
}

/** Returns the reason why the global at index `at` forbids grouping, or undefined. */
function reasonAt(tokens: readonly LuaToken[], at: number): string | undefined {
  const name = textAt(tokens, at);
  if (REACHING.includes(name) || METATABLES.includes(name)) return `uses ${name}`;
  if (name === 'redis') return redisReason(tokens, at);
  if (name === 'math') {
    const field = textAt(tokens, at + 1) === '.' ? textAt(tokens, at + 2) : '';
    return field === '' || field.startsWith('random') ? `uses math${field && `.${field}`}` : undefined;
  }
  if (name !== 'KEYS' && name !== 'ARGV') return undefined;
  const replaced = [',', '='].includes(textAt(tokens, at + 1)) && isAssigned(tokens, at);
  return replaced || textAt(tokens, at - 1) === 'function' ? `assigns to ${name}` : undefined;
}

/**
 * Returns the reason why a use of `redis` forbids grouping, or undefined. For example, SELECT would change the database for the
 * next calls of the group.
 */
function redisReason(tokens: readonly LuaToken[], at: number): string | undefined {
  const field = textAt(tokens, at + 2);
  if (textAt(tokens, at + 1) !== '.' || !HARMLESS.test(field)) return `uses redis other than as redis.call(...)`;
  if (!['call', 'pcall'].includes(field)) return isAssigned(tokens, at + 2) ? `assigns to redis.${field}` : undefined;
  const called = textAt(tokens, at + 3) === '(';
  const inPcall = textAt(tokens, at - 2) === 'pcall' && textAt(tokens, at - 1) === '(' && !isField(tokens, at - 2);
  const viaPcall = inPcall && textAt(tokens, at + 3) === ',';
  if (!called && !viaPcall) return `passes redis.${field} on`;
  const command = /^(['"])(?<name>[^\\]*)\1$/.exec(textAt(tokens, at + 4))?.groups?.['name']?.toUpperCase();
  if (command === undefined || ![',', ')'].includes(textAt(tokens, at + 5)))
    return 'calls a command that is not written out';
  if (command === 'SELECT') return 'calls SELECT';
  return command === 'TIME' && !isTimeCall(tokens, at) ? `reads TIME other than by redis.call('TIME')` : undefined;
}

/**
 * Returns true if the variable that ends at index `end` may be assigned to, because `=` follows, possibly after other
 * variables, fields and indexes. It may return true for a variable that is only read, but never false for one that is assigned
 * to.
 */
function isAssigned(tokens: readonly LuaToken[], end: number): boolean {
  let wantsName = false;
  for (let at = end + 1; at < tokens.length; at++) {
    const { kind, text } = tokens[at] as LuaToken;
    if (text === '=' && !wantsName) return textAt(tokens, at + 1) !== '=';
    if (CLOSING.has(text)) {
      at = closingOf(tokens, at);
      wantsName = false;
    } else if (kind === 'string') wantsName = false;
    else if (kind === 'name' && wantsName && !KEYWORDS.has(text)) wantsName = false;
    else if ([',', '.', ':'].includes(text) && !wantsName) wantsName = true;
    else return false;
  }
  return false;
}

/**
 * Returns true if index `at` is inside brackets, but not in a function inside the brackets. Then the token is part of an
 * expression, and cannot be assigned to.
 */
function inBrackets(tokens: readonly LuaToken[], at: number): boolean {
  let closed = 0;
  for (let i = at - 1; i >= 0; i--) {
    const { kind, text } = tokens[i] as LuaToken;
    if (kind === 'name' && text === 'function') return false;
    if (kind !== 'symbol') continue;
    if ([')', ']', '}'].includes(text)) closed += 1;
    else if (CLOSING.has(text) && closed-- === 0) return true;
  }
  return false;
}

export function closingOf(tokens: readonly LuaToken[], open: number): number {
  const closing: string[] = [];
  for (let at = open; at < tokens.length; at++) {
    const { kind, text } = tokens[at] as LuaToken;
    if (kind !== 'symbol') continue;
    const opened = CLOSING.get(text);
    if (opened !== undefined) closing.push(opened);
    else if (text === closing.at(-1) && closing.pop() && closing.length === 0) return at;
  }
  return tokens.length;
}

/**
 * Returns true if the Lua only calls a global, and does not declare it, assign to it or pass it on.
 *
 * @param more symbols that may follow the name after `(`, in addition to a call
 */
function onlyCalled(tokens: readonly LuaToken[], name: string, more: readonly string[] = []): boolean {
  return tokens.every(({ kind, text }, at) => {
    if (kind !== 'name' || text !== name || isField(tokens, at)) return true;
    const next = textAt(tokens, at + 1);
    if (textAt(tokens, at - 1) === 'function') return false;
    return next === '(' || (more.includes(next) && textAt(tokens, at - 1) === '(');
  });
}
