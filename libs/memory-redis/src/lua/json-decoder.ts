import { parseNumber } from './numbers';
import { raise } from './position';
import { LuaTable } from './table';
import type { LuaValue } from './values';

const MOST_NESTED = 1000;
const SPACE = /[ \t\n\r]*/y;
const WORD = /true|false|null/y;
/** Matches a number as C's strtod() reads it, including NaN, Infinity and hexadecimal numbers. */
const NUMBER =
  /(?=[-+\diInN])[-+]?(?:0[xX](?:[\dA-Fa-f]+\.?[\dA-Fa-f]*|\.[\dA-Fa-f]+)(?:[pP][-+]?\d+)?|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|[nN][aA][nN](?:\(\w*\))?)/y;
const PLAIN = /[^"\\\0]*/y;
const UNIT = /\\u[\dA-Fa-f]{4}/y;
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

interface Token {
  /** Kind of the token: a symbol, a name in cjson such as 'T_OBJ_END', the text of an error, or 'value'. */
  readonly kind: string;
  readonly value?: LuaValue;
  readonly isText?: boolean;
  readonly at: number;
}

const SYMBOLS: Readonly<Record<string, string>> = {
  '{': 'T_OBJ_BEGIN',
  '}': 'T_OBJ_END',
  '[': 'T_ARR_BEGIN',
  ']': 'T_ARR_END',
  ',': 'T_COMMA',
  ':': 'T_COLON',
};

/** Implements cjson.decode(). @param source JSON in which each character stands for one byte @param nothing value for null */
export function decodeJson(source: string, nothing: LuaValue): LuaValue {
  return new Decoder(source, nothing).decode();
}

class Decoder {
  private at = 0;

  constructor(
    private readonly source: string,
    private readonly nothing: LuaValue,
  ) {}

  decode(): LuaValue {
    if (this.source.length >= 2 && /^.?\0/s.test(this.source))
      throw raise('JSON parser does not support UTF-16 or UTF-32');
    const value = this.value(this.token(), 0);
    const end = this.token();
    if (end.kind !== 'T_END') throw wrong('the end', end);
    return value;
  }

  private value(token: Token, depth: number): LuaValue {
    if (token.kind === 'value') return token.value;
    if (token.kind !== 'T_OBJ_BEGIN' && token.kind !== 'T_ARR_BEGIN') throw wrong('value', token);
    if (depth >= MOST_NESTED) {
      throw raise(`Found too many nested data structures (${depth + 1}) at character ${token.at + 1}`);
    }
    return token.kind === 'T_OBJ_BEGIN' ? this.object(depth + 1) : this.array(depth + 1);
  }

  private object(depth: number): LuaTable {
    const table = new LuaTable();
    let token = this.token();
    if (token.kind === 'T_OBJ_END') return table;
    for (;;) {
      if (token.isText !== true) throw wrong('object key string', token);
      const colon = this.token();
      if (colon.kind !== 'T_COLON') throw wrong('colon', colon);
      table.set(token.value, this.value(this.token(), depth));
      const next = this.token();
      if (next.kind === 'T_OBJ_END') return table;
      if (next.kind !== 'T_COMMA') throw wrong('comma or object end', next);
      token = this.token();
    }
  }

  private array(depth: number): LuaTable {
    const table = new LuaTable();
    let token = this.token();
    if (token.kind === 'T_ARR_END') return table;
    for (let index = 1; ; index++) {
      table.set(index, this.value(token, depth));
      const next = this.token();
      if (next.kind === 'T_ARR_END') return table;
      if (next.kind !== 'T_COMMA') throw wrong('comma or array end', next);
      token = this.token();
    }
  }

  private token(): Token {
    this.match(SPACE);
    const { at, source } = this;
    const char = source[at];
    if (char === undefined || char === '\0') return { kind: 'T_END', at };
    const symbol = SYMBOLS[char];
    if (symbol !== undefined) {
      this.at++;
      return { kind: symbol, at };
    }
    if (char === '"') return this.text(at);
    const word = this.match(WORD);
    if (word !== undefined) return { kind: 'value', value: word === 'null' ? this.nothing : word === 'true', at };
    const number = this.match(NUMBER);
    if (number !== undefined) return { kind: 'value', value: parseNumber(number), at };
    return { kind: /[-+\d]/.test(char) ? 'invalid number' : 'invalid token', at };
  }

  private text(at: number): Token {
    this.at++;
    let value = '';
    for (;;) {
      value += this.match(PLAIN);
      const char = this.source[this.at];
      if (char === '"') {
        this.at++;
        return { kind: 'value', value, isText: true, at };
      }
      if (char !== '\\') return { kind: 'unexpected end of string', at: this.at };
      const escape = this.source[this.at + 1] ?? '';
      if (escape === 'u') {
        const { at: start } = this;
        const unescaped = this.codePoint();
        if (unescaped === undefined) return { kind: 'invalid unicode escape code', at: start };
        value += Buffer.from(unescaped).toString('latin1');
      } else {
        const unescaped = ESCAPES[escape];
        if (unescaped === undefined) return { kind: 'invalid escape code', at: this.at };
        value += unescaped;
        this.at += 2;
      }
    }
  }

  /** Reads an escape \uXXXX, or two escapes that are a surrogate pair. Returns undefined if the text has no such escape here. */
  private codePoint(): string | undefined {
    const unit = this.unit();
    if (unit === undefined || (unit & 0xf800) !== 0xd800)
      return unit === undefined ? undefined : String.fromCharCode(unit);
    const low = (unit & 0x400) === 0 ? this.unit() : undefined;
    return low === undefined || (low & 0xfc00) !== 0xdc00 ? undefined : String.fromCharCode(unit, low);
  }

  private unit(): number | undefined {
    const hex = this.match(UNIT)?.slice(2);
    return hex === undefined ? undefined : Number.parseInt(hex, 16);
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.source)?.[0];
    this.at += found?.length ?? 0;
    return found;
  }
}

function wrong(expected: string, { kind, value, isText, at }: Token): Error {
  const found = kind !== 'value' ? kind : isText === true ? 'T_STRING' : nameOf(value);
  return raise(`Expected ${expected} but found ${found} at character ${at + 1}`);
}

function nameOf(value: LuaValue): string {
  if (typeof value === 'number') return 'T_NUMBER';
  return typeof value === 'boolean' ? 'T_BOOLEAN' : 'T_NULL';
}
