import { lex, type Token } from './lexer';
import { LuaError } from './values';

/** The tokens of a source, read one by one. */
export class TokenStream {
  private readonly tokens: readonly Token[];
  private at = 0;

  constructor(source: string) {
    this.tokens = lex(source);
  }

  get current(): Token {
    const token = this.tokens[Math.min(this.at, this.tokens.length - 1)];
    if (token === undefined) throw new LuaError('no tokens');
    return token;
  }

  get following(): Token {
    return this.tokens[this.at + 1] ?? this.current;
  }

  /** Line of the token before the current one. */
  get lastLine(): number {
    return this.tokens[this.at - 1]?.line ?? 1;
  }

  next(): Token {
    const token = this.current;
    this.at++;
    return token;
  }

  /** Takes the current token if it is of a kind. */
  accept(kind: string): boolean {
    if (this.current.kind !== kind) return false;
    this.at++;
    return true;
  }

  expect(kind: string): Token {
    if (this.current.kind !== kind) throw this.wrong(`'${kind}' expected`);
    return this.next();
  }

  /** Takes the token that ends a block which began at `line`. */
  expectEnd(kind: string, opened: string, line: number): void {
    if (this.current.kind === kind) {
      this.at++;
      return;
    }
    const at = line === this.current.line ? '' : ` (to close '${opened}' at line ${line})`;
    throw this.wrong(`'${kind}' expected${at}`);
  }

  wrong(text: string): LuaError {
    return new LuaError(`user_script:${this.current.line}: ${text} near '${this.current.text}'`);
  }
}
