import { lex, type Token } from './lexer';
import { LuaError } from './values';

/** The tokens of a source, read one by one. */
export class TokenStream {
  private readonly tokens: readonly Token[];
  private at = 0;
  private lookedFrom = -1;
  current: Token;

  constructor(source: string) {
    this.tokens = lex(source);
    this.current = this.tokens[0] as Token;
    this.check();
  }

  /** Returns the token after the current one. */
  get following(): Token {
    return this.tokens[this.at + 1] ?? this.current;
  }

  /** Returns the same where Lua itself looks ahead: Lua then takes the line of that token for the line of the current one. */
  lookAhead(): Token {
    this.lookedFrom = this.at;
    return this.following;
  }

  /** Line of the token before the current one. */
  get lastLine(): number {
    const last = this.at - 1;
    return this.tokens[last === this.lookedFrom ? this.at : last]?.line ?? 1;
  }

  /** True at the end of the source and at the end of a block. */
  get atBlockEnd(): boolean {
    const { kind } = this.current;
    return kind === 'end' || kind === 'else' || kind === 'elseif' || kind === 'until';
  }

  get atEnd(): boolean {
    return this.at >= this.tokens.length - 1;
  }

  next(): Token {
    const token = this.current;
    this.at++;
    // At the end of the source, it stays the current one.
    this.current = this.tokens[this.at] ?? token;
    if (this.current.kind === 'wrong') this.check();
    return token;
  }

  /** Takes the current token if it is of a kind. */
  accept(kind: string): boolean {
    if (!this.is(kind)) return false;
    this.next();
    return true;
  }

  expect(kind: string): Token {
    if (!this.is(kind)) throw this.wrong(`'${kind === 'name' ? '<name>' : kind}' expected`);
    return this.next();
  }

  /** Takes the token that ends a block which began at `line`. */
  expectEnd(kind: string, opened: string, line: number): void {
    if (this.accept(kind)) return;
    const at = line === this.current.line ? '' : ` (to close '${opened}' at line ${line})`;
    throw this.wrong(`'${kind}' expected${at}`);
  }

  wrong(text: string): LuaError {
    const { line, near, kind } = this.current;
    // Lua takes the character of a zero byte for no token at all.
    if (kind === '\0') return new LuaError(`user_script:${line}: ${text}`);
    // As in C, the text of the message ends at a zero byte.
    return new LuaError(`user_script:${line}: ${text} near '${near.split('\0', 1)[0]}'`);
  }

  /** Returns true if the current token is of a kind. The end of the source is not the keyword `end`. */
  private is(kind: string): boolean {
    return this.current.kind === kind && !(kind === 'end' && this.atEnd);
  }

  private check(): void {
    if (this.current.kind === 'wrong') throw this.wrong(this.current.text);
  }
}
