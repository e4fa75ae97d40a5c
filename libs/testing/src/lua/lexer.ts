import { LuaError } from './values';

export interface Token {
  /** 'name', 'string', 'number' and 'end' of the source; a keyword or symbol is its own kind. */
  readonly kind: string;
  /** Content of a string, one character for each byte; text of a name. */
  readonly text: string;
  readonly number: number;
  readonly line: number;
}

const KEYWORDS = new Set(
  (
    'and break do else elseif end false for function if in local nil not or repeat return then true until while'
  ).split(' '),
);
const SKIPPED = /(?:[ \t\r\n\v\f]+|--\[(?<c>=*)\[[\s\S]*?\]\k<c>\]|--(?!\[=*\[)[^\n]*)+/y;
const NAME = /[A-Za-z_]\w*/y;
const NUMBER = /0[xX][\dA-Fa-f]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const LONG_STRING = /\[(?<s>=*)\[(?:\r\n|\n\r|\n|\r)?(?<text>[\s\S]*?)\]\k<s>\]/y;
const SHORT_STRING = /(?<quote>['"])(?<text>(?:\\[\s\S]|(?!\k<quote>)[^\\\n])*)\k<quote>/y;
const SYMBOL = /\.\.\.|\.\.|==|~=|<=|>=|[-+*/%^#<>=(){}[\];:,.]/y;
const ESCAPE = /\\(?<digits>\d{1,3})|\\(?<other>\r\n|\n\r|[\s\S])/g;
const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** Returns the tokens of Lua 5.1 source, of which each character is one byte. */
export function lex(source: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(source);
    if (found !== null) at += found[0].length;
    return found;
  };
  const add = (kind: string, text: string, number = Number.NaN): void => {
    tokens.push({ kind, text, number, line });
  };
  while (at < source.length) {
    const skipped = match(SKIPPED);
    if (skipped !== null) {
      line += newlinesOf(skipped[0]);
      continue;
    }
    let found = match(NAME);
    if (found !== null) {
      add(KEYWORDS.has(found[0]) ? found[0] : 'name', found[0]);
    } else if ((found = match(NUMBER)) !== null) {
      add('number', found[0], Number(found[0]));
    } else if ((found = match(SHORT_STRING)) !== null) {
      add('string', unescape(found.groups?.text ?? '', line));
      line += newlinesOf(found[0]);
    } else if ((found = match(LONG_STRING)) !== null) {
      line += newlinesOf(found[0]);
      add('string', (found.groups?.text ?? '').replace(/\r\n|\n\r|\r/g, '\n'));
    } else if ((found = match(SYMBOL)) !== null) {
      add(found[0], found[0]);
    } else {
      throw new LuaError(`user_script:${line}: unexpected symbol near '${source.slice(at, at + 1)}'`);
    }
  }
  add('end', '<eof>');
  return tokens;
}

function unescape(text: string, line: number): string {
  return text.replace(ESCAPE, (_, digits: string | undefined, other: string) => {
    if (digits === undefined) return ESCAPES[other] ?? (/^[\r\n]/.test(other) ? '\n' : other);
    const code = Number(digits);
    if (code > 255) throw new LuaError(`user_script:${line}: escape sequence too large near '\\${digits}'`);
    return String.fromCharCode(code);
  });
}

function newlinesOf(text: string): number {
  return text.split('\n').length - 1;
}
