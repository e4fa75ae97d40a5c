import type { Expression } from './expression-code';
import type { TokenStream } from './token-stream';

/** The parts of the compiler that need each other. The compiler puts them together. */
export interface Grammar {
  block(this: void, tokens: TokenStream, scope: Scope): string;
  expression(this: void, tokens: TokenStream, scope: Scope): Expression;
  functionBody(this: void, tokens: TokenStream, outer: Scope, isMethod: boolean): string;
  table(this: void, tokens: TokenStream, scope: Scope): Expression;
}

/** Names of locals of one function, with the names that compiled code gives them. */
export class Scope {
  private readonly blocks = [new Map<string, string>()];
  readonly temporaries: string[] = [];
  /** How many loops the current statement is in. */
  loops = 0;
  /** True if the function uses ... itself. */
  usesVarargs = false;

  private readonly names: { count: number };

  /** @param outer scope of the function around it @param hasVarargs true if ... is allowed */
  constructor(
    readonly grammar: Grammar,
    readonly outer: Scope | undefined,
    readonly hasVarargs: boolean,
  ) {
    this.names = outer?.names ?? { count: 0 };
  }

  enter(): void {
    this.blocks.push(new Map());
  }

  leave(): void {
    this.blocks.pop();
  }

  /** Declares a local, and returns its name in compiled code. */
  declare(name: string): string {
    const compiled = this.unique(name);
    this.blocks.at(-1)?.set(name, compiled);
    return compiled;
  }

  /** Returns a name that compiled code has not used yet. */
  unique(name: string): string {
    return `${name}$${++this.names.count}`;
  }

  /** Returns a new variable of the function for a value between two steps. */
  temporary(): string {
    const name = this.unique('t');
    this.temporaries.push(name);
    return name;
  }

  /** Returns the compiled name of a local or upvalue; undefined for a global. */
  find(name: string): { readonly compiled: string; readonly kind: 'local' | 'upvalue' } | undefined {
    for (let depth = this.blocks.length - 1; depth >= 0; depth--) {
      const compiled = this.blocks[depth]?.get(name);
      if (compiled !== undefined) return { compiled, kind: 'local' };
    }
    const found = this.outer?.find(name);
    return found === undefined ? undefined : { compiled: found.compiled, kind: 'upvalue' };
  }
}

/** Returns the declaration of the temporary variables of a function. */
export function declared({ temporaries }: Scope): string {
  return temporaries.length === 0 ? '' : `let ${temporaries.join(', ')};\n`;
}
