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
   * Does the same as `following`, for a place at which Lua itself reads one token ahead. Lua's line number is then that of the token ahead.
   * So after one call of `next()`, `lastLine` is the line of this token.
   */
  lookAhead(): Token {
    this.lookedFrom = this.at;
    return this.following;
  }

  /** Line of the token before the current one. For the exception, see `lookAhead`. */
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
    // The last token stays current at the end of the source.
    this.current = this.tokens[this.at] ?? token;
    if (this.current.kind === 'wrong') this.check();
    return token;
  }

  /** Skips the current token if it is of this kind. @returns true if it was */
  accept(kind: string): boolean {
    if (!this.is(kind)) return false;
    this.next();
    return true;
  }

  expect(kind: string): Token {
    if (!this.is(kind)) throw this.wrong(`'${kind === 'name' ? '<name>' : kind}' expected`);
    return this.next();
  }

  /** Skips the token that ends a block. @param opened token that began the block @param line line of that token */
  expectEnd(kind: string, opened: string, line: number): void {
    if (this.accept(kind)) return;
    const at = line === this.current.line ? '' : ` (to close '${opened}' at line ${line})`;
    throw this.wrong(`'${kind}' expected${at}`);
  }

  wrong(text: string): LuaError {
    const { line, near, kind } = this.current;
    // A zero byte in the source is not a token for Lua, so the message shows none.
    if (kind === '\0') return new LuaError(`user_script:${line}: ${text}`);
    // In C, a zero byte ends the text of the message.
    return new LuaError(`user_script:${line}: ${text} near '${near.split('\0', 1)[0]}'`);
  }

  /**
   * Returns true if the current token is of this kind. The end of the source has the same kind as the keyword `end`, but does not count.
   */
  private is(kind: string): boolean {
    return this.current.kind === kind && !(kind === 'end' && this.atEnd);
  }

  private check(): void {
    if (this.current.kind === 'wrong') throw this.wrong(this.current.text);
  }
}
