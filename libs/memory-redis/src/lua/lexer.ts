import { parseNumber } from './numbers';
import { readLongText, readShortText, type ReadText } from './string-tokens';

export interface Token {
  /** Kind of the token: 'name', 'string', 'number', 'wrong' (an error) or 'end' (of the source). A keyword or symbol is its own kind. */
  readonly kind: string;
  /** Text of a string (each character stands for one byte) or of a name; message of an error. */
  readonly text: string;
  /** Text by which error messages show the token. */
  readonly near: string;
  readonly number: number;
  readonly line: number;
}

const KEYWORDS: ReadonlyMap<string, string> = new Map(
  'and break do else elseif end false for function if in local nil not or repeat return then true until while'
    .split(' ')
    .map((keyword) => [keyword, keyword]),
);
const NEWLINE = 10;
const RETURN = 13;
const DOUBLE_QUOTE = 34;
const SINGLE_QUOTE = 39;
const MINUS = 45;
const DOT = 46;
const EQUALS = 61;
const OPEN = 91;
const E = [69, 101, 0];
const SIGNS = [43, MINUS, 0];
const DOTS = [DOT, 0];

/** Classes of characters. The table CLASSES has the class of each byte, or 0 if it is in none of these. */
const SPACE = 1;
const DIGIT = 2;
const LETTER = 4;
const CLASSES = new Uint8Array(256);
for (const char of ' \t\r\n\v\f') CLASSES[char.charCodeAt(0)] = SPACE;
for (let code = 0; code < 128; code++) {
  const char = String.fromCharCode(code);
  if (/\d/.test(char)) CLASSES[code] = DIGIT;
  else if (/\w/.test(char)) CLASSES[code] = LETTER;
}

/**
 * Splits Lua 5.1 source into tokens. Each character of the source stands for one byte. Stops at an invalid token; the parser throws the
 * error of this token when it gets there.
 */
export function lex(source: string): readonly Token[] {
  return new Lexer(source).lex();
}

class Lexer {
  private readonly tokens: Token[] = [];
  private line = 1;
  private at = 0;
  private isWrong = false;

  constructor(private readonly source: string) {}

  lex(): readonly Token[] {
    while (this.at < this.source.length && !this.isWrong) this.step(this.source.charCodeAt(this.at));
    this.add('end', '', '<eof>');
    return this.tokens;
  }

  private step(code: number): void {
    const kind = classOf(code);
    if (kind === LETTER) this.name();
    else if (kind === SPACE) this.space(code);
    else if (kind === DIGIT || (code === DOT && classOf(this.code(1)) === DIGIT)) this.number();
    else if (code === DOUBLE_QUOTE || code === SINGLE_QUOTE) this.take(readShortText(this.source, this.at), 'string');
    else if (code === OPEN && (this.code(1) === OPEN || this.code(1) === EQUALS)) {
      this.take(readLongText(this.source, this.at), 'long string');
    } else if (code === MINUS && this.code(1) === MINUS) this.comment();
    else this.symbol(code);
  }

  private code(ahead: number): number {
    return this.source.charCodeAt(this.at + ahead);
  }

  /** Returns true if a character is one of `codes`. They include 0, because Lua uses strchr(), which also finds a zero byte. */
  private isOneOf(codes: readonly number[], ahead = 0): boolean {
    return codes.includes(this.code(ahead));
  }

  private space(code: number): void {
    this.at++;
    if (code !== NEWLINE && code !== RETURN) return;
    this.line++;
    const next = this.code(0);
    // A carriage return and a newline next to each other, in either order, are one line break.
    if (next !== code && (next === NEWLINE || next === RETURN)) this.at++;
  }

  private name(): void {
    const from = this.at;
    while (classOf(this.code(0)) >= DIGIT) this.at++;
    const text = this.source.slice(from, this.at);
    this.add(KEYWORDS.get(text) ?? 'name', text, text);
  }

  private number(): void {
    const from = this.at;
    while (this.code(0) === DOT || classOf(this.code(0)) === DIGIT) this.at++;
    if (this.isOneOf(E)) {
      this.at++;
      if (this.isOneOf(SIGNS)) this.at++;
    }
    while (classOf(this.code(0)) >= DIGIT) this.at++;
    const text = this.source.slice(from, this.at);
    const number = parseNumber(text);
    if (number === undefined) this.wrong('malformed number', text);
    else this.add('number', text, text, number);
  }

  private comment(): void {
    const start = this.at + 2;
    if (this.source.charCodeAt(start) === OPEN) {
      const read = readLongText(this.source, start);
      // Without a second bracket, this is a comment that ends with the line.
      if (read.text !== undefined || read.problem !== 'invalid long string delimiter') {
        this.take(read, 'long comment');
        return;
      }
    }
    this.at = start;
    while (this.at < this.source.length && this.code(0) !== NEWLINE && this.code(0) !== RETURN) this.at++;
  }

  /** Adds a token for a string, or for an error in a string or comment. */
  private take(read: ReadText, what: 'string' | 'long string' | 'long comment'): void {
    this.at = read.end;
    this.line += read.lines;
    if (read.text === undefined) {
      this.wrong(read.problem === 'unfinished' ? `unfinished ${what}` : (read.problem ?? ''), read.near);
    } else if (what !== 'long comment') {
      this.add('string', read.text, read.near);
    }
  }

  private symbol(code: number): void {
    const next = this.code(1);
    let length = 1;
    if (code === DOT && this.isOneOf(DOTS, 1)) length = this.isOneOf(DOTS, 2) ? 3 : 2;
    // The operators == ~= <= >= have two characters.
    else if (next === EQUALS && (code === EQUALS || code === 126 || code === 60 || code === 62)) length = 2;
    const text = code === DOT ? '...'.slice(0, length) : this.source.slice(this.at, this.at + length);
    this.at += length;
    this.add(text, text, code < 32 || code === 127 ? `char(${code})` : text);
  }

  private wrong(text: string, near: string): void {
    this.isWrong = true;
    this.add('wrong', text, near);
  }

  private add(kind: string, text: string, near: string, number = Number.NaN): void {
    this.tokens.push({ kind, text, near, number, line: this.line });
  }
}

function classOf(code: number): number {
  return CLASSES[code] ?? 0;
}
