import { tokensOf, type Token } from './tokens';

export interface Range {
  readonly from: number;
  readonly to: number;
}

/** A call. `args` are those in parentheses. */
export interface Call extends Range {
  /** Text of what is called, such as `redis.call`. */
  readonly callee: string;
  readonly args: readonly Range[];
}

/** A literal index: the number in KEYS[2]. */
export interface Index {
  readonly table: 'KEYS' | 'ARGV';
  readonly number: Token;
}

const COMPARISONS = new Set(['<', '<=', '>', '>=', '==', '~=']);
const BINARY = new Set([...COMPARISONS, 'and', 'or', '..', '+', '-', '*', '/', '%', '^']);

/** Reads expressions, and notes what is in them. The priority of operators does not matter for that. */
export abstract class ExpressionParser {
  private readonly tokens: readonly Token[];
  private at = 0;
  protected readonly operators: Token[] = [];
  protected readonly constants: Token[] = [];
  protected readonly indexes: Index[] = [];
  protected readonly calls: Call[] = [];

  constructor(private readonly source: string) {
    this.tokens = tokensOf(source);
  }

  /** Reads the parameters and the body of a function, from the opening parenthesis on. */
  protected abstract functionBody(): unknown;

  protected get current(): Token {
    return this.tokens[this.at] as Token;
  }

  /** End of the last token that was read. */
  protected get lastEnd(): number {
    return this.tokens[this.at - 1]?.to ?? 0;
  }

  protected next(): Token {
    const token = this.current;
    this.at++;
    return token;
  }

  protected is(text: string): boolean {
    return this.current.text === text && this.current.kind !== 'string';
  }

  protected accept(text: string): boolean {
    if (!this.is(text)) return false;
    this.at++;
    return true;
  }

  protected expect(text: string): void {
    if (!this.accept(text)) throw this.wrong();
  }

  protected wrong(): Error {
    return new Error(`unexpected ${this.current.text || 'end'} at ${this.current.from}: ${this.source.slice(0, 60)}`);
  }

  protected expressions(): Range[] {
    const list: Range[] = [];
    do {
      const { from } = this.current;
      this.expression();
      list.push({ from, to: this.lastEnd });
    } while (this.accept(','));
    return list;
  }

  protected expression(): void {
    for (;;) {
      while (this.is('not') || this.is('-') || this.is('#')) {
        const token = this.next();
        if (token.text === 'not') this.operators.push(token);
      }
      this.simple();
      if (this.current.kind === 'string' || !BINARY.has(this.current.text)) return;
      const token = this.next();
      if (COMPARISONS.has(token.text) || token.text === 'and' || token.text === 'or') this.operators.push(token);
    }
  }

  private simple(): void {
    const { kind, text } = this.current;
    if (kind === 'string' || text === 'nil' || text === '...') this.next();
    else if (kind === 'number' || text === 'true' || text === 'false') this.constants.push(this.next());
    else if (text === '{') this.table();
    else if (text === 'function') {
      this.next();
      this.functionBody();
    } else this.suffixed();
  }

  private table(): void {
    this.expect('{');
    while (!this.accept('}')) {
      if (this.accept('[')) {
        this.expression();
        this.expect(']');
        this.expect('=');
      } else if (this.current.kind === 'name' && this.tokens[this.at + 1]?.text === '=') {
        this.at += 2;
      }
      this.expression();
      if (!this.accept(',')) this.accept(';');
    }
  }

  protected suffixed(): void {
    const { from } = this.current;
    if (this.accept('(')) {
      this.expression();
      this.expect(')');
    } else if (this.next().kind !== 'name') {
      this.at--;
      throw this.wrong();
    }
    for (;;) {
      const callee = this.source.slice(from, this.lastEnd);
      if (this.accept('.') || this.accept(':')) this.next();
      else if (this.is('[')) this.index(callee);
      else if (this.accept('(')) {
        const args = this.is(')') ? [] : this.expressions();
        this.expect(')');
        this.calls.push({ callee, args, from, to: this.lastEnd });
      } else if (this.current.kind === 'string') this.next();
      else if (this.is('{')) this.table();
      else return;
    }
  }

  private index(table: string): void {
    this.expect('[');
    const number = this.current;
    if ((table === 'KEYS' || table === 'ARGV') && number.kind === 'number' && this.tokens[this.at + 1]?.text === ']') {
      this.indexes.push({ table, number });
      this.next();
    } else {
      this.expression();
    }
    this.expect(']');
  }
}
