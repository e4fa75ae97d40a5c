import { parseNumber } from './numbers';
import { raise } from './position';
import { LuaTable } from './table';
import type { LuaValue } from './values';

const MOST_NESTED = 1000;
const SPACE = /[ \t\n\r]*/y;
const NUMBER = /[-+]?(?:0[xX][\dA-Fa-f]+|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)/y;
const WORD = /true|false|null/y;
const STRING = /"(?:[^"\\\0]|\\["\\/bfnrt]|\\u[\dA-Fa-f]{4})*"/y;
const ESCAPE = /\\(?:u([\dA-Fa-f]{4})|(.))/g;
const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

interface Token {
  /** A symbol, 'T_OBJ_END' and the like as cjson names them, or 'value'. */
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

/** cjson.decode(): reads JSON of which each character is one byte. @param nothing what null becomes */
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
    if (char === undefined) return { kind: 'T_END', at };
    const symbol = SYMBOLS[char];
    if (symbol !== undefined) {
      this.at++;
      return { kind: symbol, at };
    }
    const text = this.match(STRING);
    if (text !== undefined) return { kind: 'value', value: unescaped(text.slice(1, -1)), isText: true, at };
    const word = this.match(WORD);
    if (word !== undefined) return { kind: 'value', value: word === 'null' ? this.nothing : word === 'true', at };
    const number = this.match(NUMBER);
    return number === undefined ? { kind: 'invalid token', at } : { kind: 'value', value: parseNumber(number), at };
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.source)?.[0];
    this.at += found?.length ?? 0;
    return found;
  }
}

function unescaped(text: string): string {
  const units = text.replace(ESCAPE, (_, hex: string | undefined, char: string) => {
    if (hex === undefined) return ESCAPES[char] ?? char;
    const code = Number.parseInt(hex, 16);
    // Bytes of UTF-8; halves of a pair are put together below.
    return code >= 0xd800 && code < 0xe000 ? `\uffff${hex}` : Buffer.from(String.fromCharCode(code)).toString('latin1');
  });
  return units.replace(/\uffff(\w{4})\uffff(\w{4})/g, (_, high: string, low: string) => {
    const pair = String.fromCharCode(Number.parseInt(high, 16), Number.parseInt(low, 16));
    return Buffer.from(pair).toString('latin1');
  });
}

function wrong(expected: string, { kind, value, isText, at }: Token): Error {
  const found = kind !== 'value' ? kind : isText === true ? 'T_STRING' : nameOf(value);
  return raise(`Expected ${expected} but found ${found} at character ${at + 1}`);
}

function nameOf(value: LuaValue): string {
  if (typeof value === 'number') return 'T_NUMBER';
  return typeof value === 'boolean' ? 'T_BOOLEAN' : 'T_NULL';
}
