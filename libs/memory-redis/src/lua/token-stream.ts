import { lex, type Token } from './lexer';
import { LuaError } from './values';

/** Reads the tokens of a source one by one. */
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

  /**
   * Returns the token after the current one, as `following` does. Used where Lua itself reads one token ahead. Lua then has the wrong line
   * for the current token: that of the next token.
   */
  lookAhead(): Token {
    this.lookedFrom = this.at;
    return this.following;
  }

  /** Line of the token before the current one. */
  get lastLine(): number {
    const last = this.at - 1;
    return this.tokens[last === this.lookedFrom ? this.at : last]?.line ?? 1;
  }

  /** True if the current token ends a block or the source. */
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
    // At the end of the source, the last token stays the current one.
    this.current = this.tokens[this.at] ?? token;
    if (this.current.kind === 'wrong') this.check();
    return token;
  }

  /** Moves past the current token if it is of a kind. @returns true if it was */
  accept(kind: string): boolean {
    if (!this.is(kind)) return false;
    this.next();
    return true;
  }

  expect(kind: string): Token {
    if (!this.is(kind)) throw this.wrong(`'${kind === 'name' ? '<name>' : kind}' expected`);
    return this.next();
  }

  /** Moves past the token that ends a block. @param opened the token that began the block @param line line of this token */
  expectEnd(kind: string, opened: string, line: number): void {
    if (this.accept(kind)) return;
    const at = line === this.current.line ? '' : ` (to close '${opened}' at line ${line})`;
    throw this.wrong(`'${kind}' expected${at}`);
  }

  wrong(text: string): LuaError {
    const { line, near, kind } = this.current;
    // For Lua, a zero byte in the source is not a token, so the message has none.
    if (kind === '\0') return new LuaError(`user_script:${line}: ${text}`);
    // In C, the text of the message ends at a zero byte.
    return new LuaError(`user_script:${line}: ${text} near '${near.split('\0', 1)[0]}'`);
  }

  /**
   * Returns true if the current token is of a kind. The keyword `end` and the end of the source have the same kind, but only the keyword
   * counts.
   */
  private is(kind: string): boolean {
    return this.current.kind === kind && !(kind === 'end' && this.atEnd);
  }

  private check(): void {
    if (this.current.kind === 'wrong') throw this.wrong(this.current.text);
  }
}
