import { ExpressionParser, type Call, type Index, type Range } from './expression-parser';
import type { Token } from './tokens';

/** A statement, with the blocks in it. */
export interface Statement extends Range {
  readonly kind:
    'if' | 'while' | 'do' | 'for' | 'repeat' | 'function' | 'local' | 'return' | 'break' | 'call' | 'assign';
  readonly blocks: readonly (readonly Statement[])[];
  /** End of the names of `local a, b = ...`, so that the values can be left out. */
  readonly namesEnd?: number;
}

/** Contents of a source, each list in the order of the source. */
export interface Syntax {
  readonly statements: readonly Statement[];
  /** Operators: comparisons, `and`, `or`, `not`. */
  readonly operators: readonly Token[];
  /** Numbers, `true` and `false`, but for the indexes of KEYS and ARGV. */
  readonly constants: readonly Token[];
  readonly indexes: readonly Index[];
  readonly calls: readonly Call[];
}

const BLOCK_ENDS = new Set(['end', 'else', 'elseif', 'until', '']);
/** Parses Lua 5.1 that compiles. @throws Error for what it cannot read */
export function parse(source: string): Syntax {
  return new Parser(source).parse();
}

class Parser extends ExpressionParser {
  parse(): Syntax {
    const statements = this.block();
    if (this.current.kind !== 'end') throw this.wrong();
    const { operators, constants, indexes, calls } = this;
    return { statements, operators, constants, indexes, calls };
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

  protected override functionBody(): Statement[] {
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
}
