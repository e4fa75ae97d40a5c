import { tokensOf, type Token } from './tokens';

export interface Range {
  readonly from: number;
  readonly to: number;
}

/** A statement, with the blocks in it. */
export interface Statement extends Range {
  readonly kind:
    'if' | 'while' | 'do' | 'for' | 'repeat' | 'function' | 'local' | 'return' | 'break' | 'call' | 'assign';
  readonly blocks: readonly (readonly Statement[])[];
  /** End of the names of `local a, b = ...`, so that the values can be left out. */
  readonly namesEnd?: number;
}

/** A call. `args` are those in parentheses. */
export interface Call extends Range {
  /** Text of what is called, such as `redis.call`. */
  readonly callee: string;
  readonly args: readonly Range[];
}

/** What a source consists of, each list in the order of the source. */
export interface Syntax {
  readonly statements: readonly Statement[];
  /** Operators: comparisons, `and`, `or`, `not`. */
  readonly operators: readonly Token[];
  /** Numbers, `true` and `false`, but for the indexes of KEYS and ARGV. */
  readonly constants: readonly Token[];
  /** Indexes that are literal: the number in KEYS[2]. */
  readonly indexes: readonly { readonly table: 'KEYS' | 'ARGV'; readonly number: Token }[];
  readonly calls: readonly Call[];
}

const BLOCK_ENDS = new Set(['end', 'else', 'elseif', 'until', '']);
const COMPARISONS = new Set(['<', '<=', '>', '>=', '==', '~=']);
const BINARY = new Set([...COMPARISONS, 'and', 'or', '..', '+', '-', '*', '/', '%', '^']);

/** Parses Lua 5.1 that compiles. @throws Error for what it cannot read */
export function parse(source: string): Syntax {
  return new Parser(source).parse();
}

class Parser {
  private readonly tokens: readonly Token[];
  private at = 0;
  private readonly operators: Token[] = [];
  private readonly constants: Token[] = [];
  private readonly indexes: Syntax['indexes'][number][] = [];
  private readonly calls: Call[] = [];

  constructor(private readonly source: string) {
    this.tokens = tokensOf(source);
  }

  parse(): Syntax {
    const statements = this.block();
    if (this.current.kind !== 'end') throw this.wrong();
    const { operators, constants, indexes, calls } = this;
    return { statements, operators, constants, indexes, calls };
  }

  private get current(): Token {
    return this.tokens[this.at] as Token;
  }

  /** End of the last token that was read. */
  private get lastEnd(): number {
    return this.tokens[this.at - 1]?.to ?? 0;
  }

  private next(): Token {
    const token = this.current;
    this.at++;
    return token;
  }

  private is(text: string): boolean {
    return this.current.text === text && this.current.kind !== 'string';
  }

  private accept(text: string): boolean {
    if (!this.is(text)) return false;
    this.at++;
    return true;
  }

  private expect(text: string): void {
    if (!this.accept(text)) throw this.wrong();
  }

  private wrong(): Error {
    return new Error(`unexpected ${this.current.text || 'end'} at ${this.current.from}: ${this.source.slice(0, 60)}`);
  }

  private block(): Statement[] {
    const statements: Statement[] = [];
    while (!(BLOCK_ENDS.has(this.current.text) && this.current.kind !== 'string')) {
      const { from } = this.current;
      const statement = this.statement();
      statements.push({ ...statement, from, to: this.lastEnd });
      this.accept(';');
    }
    return statements;
  }

  private statement(): Omit<Statement, 'from' | 'to'> {
    switch (this.current.text) {
      case 'if':
        return { kind: 'if', blocks: this.branches() };
      case 'while':
        this.next();
        this.expression();
        return { kind: 'while', blocks: [this.body('do')] };
      case 'do':
        return { kind: 'do', blocks: [this.body('do')] };
      case 'for':
        this.next();
        do this.next();
        while (this.accept(','));
        if (!this.accept('in')) this.expect('=');
        this.expressions();
        return { kind: 'for', blocks: [this.body('do')] };
      case 'repeat': {
        this.next();
        const blocks = [this.block()];
        this.expect('until');
        this.expression();
        return { kind: 'repeat', blocks };
      }
      case 'function':
        this.next();
        while (!this.is('(')) this.next();
        return { kind: 'function', blocks: [this.functionBody()] };
      case 'local':
        return this.local();
      case 'return':
        this.next();
        if (!BLOCK_ENDS.has(this.current.text) && !this.is(';')) this.expressions();
        return { kind: 'return', blocks: [] };
      case 'break':
        this.next();
        return { kind: 'break', blocks: [] };
      default:
        return this.callOrAssignment();
    }
  }

  private branches(): Statement[][] {
    const blocks: Statement[][] = [];
    do {
      this.next();
      this.expression();
      this.expect('then');
      blocks.push(this.block());
    } while (this.is('elseif'));
    if (this.accept('else')) blocks.push(this.block());
    this.expect('end');
    return blocks;
  }

  private body(opening: string): Statement[] {
    this.expect(opening);
    const statements = this.block();
    this.expect('end');
    return statements;
  }

  private functionBody(): Statement[] {
    while (!this.is(')')) this.next();
    return this.body(')');
  }

  private local(): Omit<Statement, 'from' | 'to'> {
    this.next();
    if (this.accept('function')) {
      this.next();
      return { kind: 'function', blocks: [this.functionBody()] };
    }
    do this.next();
    while (this.accept(','));
    const namesEnd = this.lastEnd;
    if (this.accept('=')) this.expressions();
    return { kind: 'local', blocks: [], namesEnd };
  }

  private callOrAssignment(): Omit<Statement, 'from' | 'to'> {
    this.suffixed();
    if (!this.is(',') && !this.is('=')) return { kind: 'call', blocks: [] };
    while (this.accept(',')) this.suffixed();
    this.expect('=');
    this.expressions();
    return { kind: 'assign', blocks: [] };
  }

  private expressions(): Range[] {
    const list: Range[] = [];
    do {
      const { from } = this.current;
      this.expression();
      list.push({ from, to: this.lastEnd });
    } while (this.accept(','));
    return list;
  }

  /** The priority of operators does not matter here. */
  private expression(): void {
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

  private suffixed(): void {
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
