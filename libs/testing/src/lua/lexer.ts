import { parseNumber } from './numbers';

export interface Token {
  /** 'name', 'string', 'number', 'wrong' and 'end' of the source; a keyword or symbol is its own kind. */
  readonly kind: string;
  /** Content of a string, one character for each byte; text of a name; message of what is wrong. */
  readonly text: string;
  /** The token as errors show it. */
  readonly near: string;
  readonly number: number;
  readonly line: number;
}

const KEYWORDS = new Set(
  'and break do else elseif end false for function if in local nil not or repeat return then true until while'.split(
    ' ',
  ),
);
const SKIPPED = /(?:[ \t\r\n\v\f]+|--\[(?<c>=*)\[[\s\S]*?\]\k<c>\]|--(?!\[=*\[)[^\n]*)+/y;
const NAME = /[A-Za-z_]\w*/y;
const NUMBER = /\.?\d[\d.]*(?:[eE][+-]?)?\w*/y;
const LONG_STRING = /\[(?<s>=*)\[(?:\r\n|\n\r|\n|\r)?(?<text>[\s\S]*?)\]\k<s>\]/y;
const SHORT_STRING = /(?<quote>['"])(?<text>(?:\\(?:\r\n|\n\r|[\s\S])|(?!\k<quote>)[^\\\r\n])*)/y;
const UNFINISHED = /(?<comment>--)?\[=*\[/y;
const BAD_DELIMITER = /\[=+/y;
const SYMBOL = /\.\.\.|\.\.|==|~=|<=|>=|[\s\S]/y;
const ESCAPE = /\\(?:(?<digits>\d{1,3})|(?<other>\r\n|\n\r|[\s\S]))/g;
const NEWLINE = /\r\n|\n\r|\n|\r/g;
const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/**
 * Returns the tokens of Lua 5.1 source, of which each character is one byte. A token that is wrong is the last one: the parser
 * reports it when it gets there.
 */
export function lex(source: string): readonly Token[] {
  return new Lexer(source).lex();
}

class Lexer {
  private readonly tokens: Token[] = [];
  private line = 1;
  private at = 0;

  constructor(private readonly source: string) {}

  lex(): readonly Token[] {
    while (this.at < this.source.length && this.tokens.at(-1)?.kind !== 'wrong') this.step();
    this.add('end', '', '<eof>');
    return this.tokens;
  }

  private step(): void {
    const skipped = this.match(SKIPPED);
    if (skipped !== undefined) {
      this.line += newlinesOf(skipped[0]);
      return;
    }
    const name = this.match(NAME)?.[0];
    if (name !== undefined) {
      this.add(KEYWORDS.has(name) ? name : 'name', name, name);
      return;
    }
    if (this.number() || this.shortString() || this.longString()) return;
    const [symbol = ''] = this.match(SYMBOL) ?? [];
    // eslint-disable-next-line no-control-regex -- control characters are what is shown by number
    this.add(symbol, symbol, /[\0-\x1f\x7f]/.test(symbol) ? `char(${symbol.charCodeAt(0)})` : symbol);
  }

  private number(): boolean {
    const text = this.match(NUMBER)?.[0];
    if (text === undefined) return false;
    const number = parseNumber(text);
    if (number === undefined) this.wrong('malformed number', text);
    else this.add('number', text, text, number);
    return true;
  }

  private shortString(): boolean {
    const found = this.match(SHORT_STRING);
    if (found === undefined) return false;
    const { quote = '', text = '' } = found.groups ?? {};
    const read = quote + this.unescaped(text);
    if (this.tokens.at(-1)?.kind === 'wrong') return true;
    this.line += newlinesOf(text);
    const after = this.source[this.at];
    if (after === quote) {
      this.at++;
      this.add('string', read.slice(1), read + quote);
    } else {
      this.wrong('unfinished string', after === undefined || after === '\\' ? '<eof>' : read);
    }
    return true;
  }

  private longString(): boolean {
    const found = this.match(LONG_STRING);
    if (found !== undefined) {
      this.line += newlinesOf(found[0]);
      this.add('string', (found.groups?.text ?? '').replace(NEWLINE, '\n'), found[0]);
      return true;
    }
    const unfinished = this.match(UNFINISHED);
    if (unfinished !== undefined) {
      this.line += newlinesOf(this.source.slice(this.at));
      this.wrong(
        unfinished.groups?.comment === undefined ? 'unfinished long string' : 'unfinished long comment',
        '<eof>',
      );
      return true;
    }
    const delimiter = this.match(BAD_DELIMITER);
    if (delimiter === undefined) return false;
    this.wrong('invalid long string delimiter', delimiter[0]);
    return true;
  }

  private unescaped(text: string): string {
    return text.replace(ESCAPE, (_, digits: string | undefined, other: string, index: number) => {
      if (digits === undefined) return ESCAPES[other] ?? (/^[\r\n]/.test(other) ? '\n' : other);
      const code = Number(digits);
      if (code > 255)
        this.wrong('escape sequence too large', `${this.source[this.at - text.length - 1]}${text.slice(0, index)}`);
      return String.fromCharCode(code & 255);
    });
  }

  private match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.source);
    if (found === null) return undefined;
    this.at += found[0].length;
    return found;
  }

  private wrong(text: string, near: string): void {
    if (this.tokens.at(-1)?.kind !== 'wrong') this.add('wrong', text, near);
  }

  private add(kind: string, text: string, near: string, number = Number.NaN): void {
    this.tokens.push({ kind, text, near, number, line: this.line });
  }
}

function newlinesOf(text: string): number {
  return text.match(NEWLINE)?.length ?? 0;
}
