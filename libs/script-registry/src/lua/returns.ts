import { loneReply } from './lone-reply';
import { closingOf, isField, textAt } from './source-use';
import { splitLua, type LuaToken } from './tokens';
import { inline } from './wrapper';

/**
 * Result of a `return`, as far as its text proves it:
 *
 *     scalar   nothing, nil, true, false or a number
 *     array    a table that Redis converts to an array
 *     error    the result of `redis.error_reply`
 *     unknown  anything else
 */
type ReturnKind = 'scalar' | 'array' | 'error' | 'unknown';

/** A `return` that ends the script, not only a function in it. The indexes are those of tokens. */
interface Return {
  readonly at: number;
  /** Index of the last token of the values; `at` if there are none. */
  readonly end: number;
  readonly kind: ReturnKind;
  /** True if nothing follows it. */
  readonly last: boolean;
}

/** Lua outside of its functions. */
interface TopLevel {
  readonly returns: readonly Return[];
  /** Number of declared locals. Those of blocks that have ended are counted too. */
  readonly locals: number;
}

/** Facts about the Lua of a script. */
interface Known {
  readonly timed: boolean;
  /** True if the result may have a metatable. */
  readonly metatables: boolean;
  /** True if `redis` is surely the table of Redis. */
  readonly ownRedis: boolean;
}

interface EncodedReturns {
  readonly source: string;
  /** True if each reply is a result without a mark, or `e<text of an error>`. Redis' time is the first value of a timed one. */
  readonly plain: boolean;
}

/** Most locals that `shared` and the source may declare together. Lua allows 200 in a function, and fewer in a long expression. */
const MAX_LOCALS = 120;

const OPENING = new Set(['function', 'do', 'if', 'repeat']);
/** Keywords that end a block, or a part of it. */
const CLOSING = new Set(['end', 'until', 'else', 'elseif']);
const BRACKETS = ['(', '{', '['];

/**
 * Encodes the result of a script at each `return` of its source, so that the source needs no function around it. The text of a
 * `return` may prove what the result is. Other results are encoded by `loneReply`.
 * See DECISIONS.md: lone-source-at-top-level
 *
 * @param source Lua without comments
 * @returns undefined if the source must stay in a function
 */
export function encodeReturns(shared: string, source: string, known: Known): EncodedReturns | undefined {
  const { timed } = known;
  const split = splitLua(source);
  const { code, places } = split;
  const sharedCode = splitLua(shared).code;
  const outer = read(sharedCode, known.ownRedis);
  const inner = read(code, known.ownRedis);
  // A `return` in `shared` would end the script before its source.
  if (outer === undefined || inner === undefined || outer.returns.length > 0) return undefined;
  if (outer.locals + inner.locals > MAX_LOCALS || [sharedCode, code].some(raisesAtLevel)) return undefined;
  const { returns } = inner;
  const open = timed && !returns.some(({ last }) => last);
  const plain = !open && returns.every(({ kind }) => kind !== 'unknown' && !(timed && kind === 'scalar'));
  const texts = [...split.texts];
  for (const { at, end, kind } of returns) {
    const [from, to] = [places[at] as number, places[end] as number];
    if (kind === 'error' && (plain || !timed)) {
      texts[from] = plain ? "return 'e' .." : "return { 'e',";
      texts[to] += plain ? '.err' : '.err }';
    } else if (kind === 'array' && plain) {
      if (timed) texts[places[at + 1] as number] = '{ luanest_us,';
    } else if (timed || kind === 'unknown' || (kind === 'array' && !startsWithNumber(code, at + 2))) {
      texts[from] = 'do local reply, b, c, d =';
      texts[to] += ` ${end === at ? 'nil ' : ''}${inline(loneReply(timed, known.metatables))} end`;
    }
  }
  if (open) texts.push(` return { 'n', false, luanest_us }`);
  return { source: texts.join(''), plain };
}

/**
 * Returns true if the Lua may call `error` with a level. Level 2 names the line of the caller, but no line if the caller is
 * `return f()`, which Lua runs as a tail call. A `return` that is encoded is not a tail call.
 */
function raisesAtLevel(code: readonly LuaToken[]): boolean {
  return code.some(({ kind, text }, at) => {
    if (kind !== 'name' || text !== 'error' || isField(code, at)) return false;
    if (code[at + 1]?.kind === 'string' || textAt(code, at + 1) === '{') return false;
    const close = closingOf(code, at + 1);
    // The last value may be a call, or `...`, with more values than one.
    if (textAt(code, at + 1) !== '(' || [')', '.'].includes(textAt(code, close - 1))) return true;
    for (let i = at + 2; i < close; i++) {
      if (textAt(code, i) === ',') return true;
      if (BRACKETS.includes(textAt(code, i))) i = closingOf(code, i);
    }
    return false;
  });
}

/** Reads Lua outside of its functions. Returns undefined if its blocks do not fit together. */
function read(code: readonly LuaToken[], ownRedis: boolean): TopLevel | undefined {
  const returns: Return[] = [];
  const blocks: string[] = [];
  let locals = 0;
  for (let at = 0; at < code.length; at++) {
    const { kind, text } = code[at] as LuaToken;
    if (kind !== 'name') continue;
    const inFunction = blocks.includes('function');
    if (OPENING.has(text)) blocks.push(text);
    else if (text === 'end' || text === 'until') {
      const opened = blocks.pop();
      if (opened === undefined || (opened === 'repeat') !== (text === 'until')) return undefined;
    }
    if (inFunction) continue;
    if (text === 'local' || text === 'for') locals += localsAt(code, at);
    if (text !== 'return') continue;
    const end = endOfValues(code, at);
    const last = blocks.length === 0 && end >= code.length - (textAt(code, code.length - 1) === ';' ? 2 : 1);
    returns.push({ at, end, kind: kindOf(code, at + 1, end, ownRedis), last });
  }
  return blocks.length === 0 ? { returns, locals } : undefined;
}

/** Returns how many locals the `local` or `for` at index `at` declares. A loop has three more, which Lua hides. */
function localsAt(code: readonly LuaToken[], at: number): number {
  let count = textAt(code, at) === 'for' ? 4 : 1;
  for (let name = at + 1; textAt(code, name + 1) === ','; name += 2) count += 1;
  return count;
}

/** Returns the index of the last token of the values of the `return` at index `at`; `at` if there are none. */
function endOfValues(code: readonly LuaToken[], at: number): number {
  let depth = 0;
  for (let i = at + 1; i < code.length; i++) {
    const { kind, text } = code[i] as LuaToken;
    if (kind === 'symbol' && BRACKETS.includes(text)) i = closingOf(code, i);
    else if (kind === 'symbol' && text === ';' && depth === 0) return i - 1;
    else if (kind === 'name' && OPENING.has(text)) depth += 1;
    else if (kind === 'name' && CLOSING.has(text) && depth === 0) return i - 1;
    else if (kind === 'name' && (text === 'end' || text === 'until')) depth -= 1;
  }
  return code.length - 1;
}

/** Returns the kind of the values from index `from` to index `end`. */
function kindOf(code: readonly LuaToken[], from: number, end: number, ownRedis: boolean): ReturnKind {
  if (end < from) return 'scalar';
  const number = textAt(code, from) === '-' ? from + 1 : from;
  if (end === number && code[number]?.kind === 'number') return 'scalar';
  if (end === from) return ['nil', 'true', 'false'].includes(textAt(code, from)) ? 'scalar' : 'unknown';
  if (textAt(code, from) === '{')
    return closingOf(code, from) === end && !hasFields(code, from, end) ? 'array' : 'unknown';
  const replies = ownRedis && ['redis', '.', 'error_reply', '('].every((text, i) => textAt(code, from + i) === text);
  return replies && closingOf(code, from + 3) === end ? 'error' : 'unknown';
}

/** Returns true if the table constructor from index `from` to index `end` may name a field, such as `err`. */
function hasFields(code: readonly LuaToken[], from: number, end: number): boolean {
  for (let at = from + 1; at < end; at++) {
    const text = textAt(code, at);
    if (BRACKETS.includes(text)) at = closingOf(code, at);
    else if (text === '=') {
      if (textAt(code, at + 1) === '=') at += 1;
      else if (!['~', '<', '>'].includes(textAt(code, at - 1))) return true;
    }
  }
  return false;
}

/** Returns true if the first item of a table is a number that is written out. @param at index of the first token of the item */
function startsWithNumber(code: readonly LuaToken[], at: number): boolean {
  return code[at]?.kind === 'number' && [',', ';', '}'].includes(textAt(code, at + 1));
}
