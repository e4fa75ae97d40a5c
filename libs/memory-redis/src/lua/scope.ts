import type { Expression } from './expression-code';
import type { TokenStream } from './token-stream';

/** Functions of the compiler that call each other. Passing them as an object avoids circular imports. */
export interface Grammar {
  block(this: void, tokens: TokenStream, scope: Scope): string;
  expression(this: void, tokens: TokenStream, scope: Scope): Expression;
  functionBody(this: void, tokens: TokenStream, outer: Scope, isMethod: boolean): string;
  table(this: void, tokens: TokenStream, scope: Scope): Expression;
}

/** Local variables of one Lua function, with their names in the compiled JavaScript. */
export class Scope {
  private readonly blocks = [new Map<string, string>()];
  readonly temporaries: string[] = [];
  /** Number of loops around the current statement. */
  loops = 0;
  /** True if the function uses `...` itself. */
  usesVarargs = false;

  private readonly names: { count: number };

  /** @param outer scope of the enclosing function @param hasVarargs true if the function may use `...` */
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

  /** Declares a local variable. @returns its name in the compiled code */
  declare(name: string): string {
    const compiled = this.unique(name);
    this.blocks.at(-1)?.set(name, compiled);
    return compiled;
  }

  /** Returns a name that the compiled code does not use yet. */
  unique(name: string): string {
    return `${name}$${++this.names.count}`;
  }

  /** Declares a new JavaScript variable for an intermediate value. @returns its name */
  temporary(): string {
    const name = this.unique('t');
    this.temporaries.push(name);
    return name;
  }

  /** Finds a local variable of this function (local) or of an outer one (upvalue). Returns undefined for a global. */
  find(name: string): { readonly compiled: string; readonly kind: 'local' | 'upvalue' } | undefined {
    for (let depth = this.blocks.length - 1; depth >= 0; depth--) {
      const compiled = this.blocks[depth]?.get(name);
      if (compiled !== undefined) return { compiled, kind: 'local' };
    }
    const found = this.outer?.find(name);
    return found === undefined ? undefined : { compiled: found.compiled, kind: 'upvalue' };
  }
}

/** Returns JavaScript that declares the variables for intermediate values of a function. */
export function declared({ temporaries }: Scope): string {
  return temporaries.length === 0 ? '' : `let ${temporaries.join(', ')};\n`;
}
