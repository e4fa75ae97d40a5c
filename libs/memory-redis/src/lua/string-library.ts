import { library, type Arguments } from './arguments';
import { operators, textOf } from './operators';
import { findPattern, isPlain, matchAt, type PatternMatch } from './patterns';
import { callBack, raise } from './position';
import { LuaTable } from './table';
import { formatText } from './string-format';
import { inPieces, reversed } from './text-parts';
import { first, isTrue, typeOf, type LuaResult, type LuaValue } from './values';

export function createStringLibrary(): LuaTable {
  return library({
    byte: (args) => {
      const text = args.text(1);
      const from = indexOf(args.integer(2, 1), text.length);
      const to = indexOf(args.integer(3, from), text.length);
      return [...text.slice(Math.max(from, 1) - 1, Math.max(to, 0))].map((char) => char.charCodeAt(0));
    },
    char: (args) =>
      args.values
        .map((_, index) => {
          const code = args.integer(index + 1);
          if (code < 0 || code > 255) throw args.invalid(index + 1, 'invalid value');
          return String.fromCharCode(code);
        })
        .join(''),
    find: (args) => find(args, true),
    format: formatText,
    gmatch,
    gfind: (args) => gmatch(args),
    gsub,
    len: (args) => args.text(1).length,
    lower: (args) => inPieces(args.text(1), (text) => text.replace(/[A-Z]+/g, (part) => part.toLowerCase())),
    match: (args) => find(args, false),
    rep: (args) => args.text(1).repeat(Math.max(0, args.integer(2))),
    reverse: (args) => reversed(args.text(1)),
    sub: (args) => {
      const text = args.text(1);
      const from = indexOf(args.integer(2), text.length);
      const to = indexOf(args.integer(3, -1), text.length);
      return text.slice(Math.max(from, 1) - 1, Math.max(to, 0));
    },
    upper: (args) => inPieces(args.text(1), (text) => text.replace(/[a-z]+/g, (part) => part.toUpperCase())),
  });
}

function gmatch(args: Arguments): LuaResult {
  const [text, pattern] = [args.text(1), args.text(2)];
  let from = 0;
  return () => {
    for (; from <= text.length; from++) {
      const found = matchAt(text, pattern, from, 0);
      if (found === undefined) continue;
      from = found.end === found.start ? found.end + 1 : found.end;
      return capturesOf(text, found);
    }
    return undefined;
  };
}

/** Converts a 1-based index of Lua. A negative index counts from the end. Returns 0 if the index is before the beginning. */
function indexOf(index: number, length: number): number {
  return index >= 0 ? index : Math.max(0, length + index + 1);
}

function find(args: Arguments, withPlace: boolean): LuaResult {
  const [text, pattern] = [args.text(1), args.text(2)];
  const from = Math.min(Math.max(0, indexOf(args.integer(3, 1), text.length) - 1), text.length);
  if (withPlace && (isTrue(args.values[3]) || isPlain(pattern))) {
    const at = text.indexOf(pattern, from);
    return at < 0 ? undefined : [at + 1, at + pattern.length];
  }
  const found = findPattern(text, pattern, from);
  if (found === undefined) return undefined;
  return withPlace ? [found.start + 1, found.end, ...found.captures] : capturesOf(text, found);
}

/** Returns the captures of a match, or the whole match if the pattern has none. */
function capturesOf(text: string, match: PatternMatch): readonly LuaValue[] {
  return match.captureCount > 0 ? match.captures : [text.slice(match.start, match.end)];
}

function gsub(args: Arguments): LuaResult {
  const [text, pattern] = [args.text(1), args.text(2)];
  const replacement = args.values[2];
  if (!['string', 'number', 'table', 'function'].includes(typeOf(replacement))) {
    throw args.invalid(3, 'string/function/table expected');
  }
  const most = args.integer(4, text.length + 1);
  const anchored = pattern.startsWith('^');
  let [at, count, result] = [0, 0, ''];
  while (count < most) {
    const found = matchAt(text, pattern, at, anchored ? 1 : 0);
    if (found !== undefined) {
      count++;
      result += replaced(text, found, replacement);
    }
    if (found !== undefined && found.end > at) {
      at = found.end;
    } else if (at < text.length) {
      result += text.charAt(at++);
    } else {
      at++;
    }
    if (anchored || at > text.length) break;
  }
  return [result + text.slice(at), count];
}

function replaced(text: string, match: PatternMatch, replacement: LuaValue): string {
  const whole = text.slice(match.start, match.end);
  let value: LuaValue;
  if (typeof replacement === 'function') value = first(callBack(replacement, ...capturesOf(text, match)));
  else if (replacement instanceof LuaTable) value = operators.index(replacement, capturesOf(text, match)[0], '', 0);
  else value = expanded(textOf(replacement) ?? '', whole, () => capturesOf(text, match), match.captureCount);
  if (!isTrue(value)) return whole;
  const result = textOf(value);
  if (result === undefined) throw raise(`invalid replacement value (a ${typeOf(value)})`);
  return result;
}

function expanded(template: string, whole: string, captures: () => readonly LuaValue[], count: number): string {
  return template.replace(/%([\s\S]?)/g, (_, char: string) => {
    // After a % at the end, C reads the zero byte that ends the text.
    if (char === '') return '\0';
    if (!/\d/.test(char)) return char;
    if (char === '0') return whole;
    if (Number(char) > Math.max(1, count)) throw raise('invalid capture index');
    return textOf(captures()[Number(char) - 1]) ?? '';
  });
}
