/** Names of locals of one function, with the names that compiled code gives them. */
export class Scope {
  private readonly blocks: Map<string, string>[] = [new Map()];
  readonly temporaries: string[] = [];
  private static count = 0;

  /** @param outer scope of the function around it @param hasVarargs true if ... is allowed */
  constructor(
    readonly outer: Scope | undefined,
    readonly hasVarargs: boolean,
  ) {}

  enter(): void {
    this.blocks.push(new Map());
  }

  leave(): void {
    this.blocks.pop();
  }

  /** Declares a local, and returns its name in compiled code. */
  declare(name: string): string {
    const compiled = `${name}$${++Scope.count}`;
    this.blocks.at(-1)?.set(name, compiled);
    return compiled;
  }

  /** Returns a new variable of the function for a value between two steps. */
  temporary(): string {
    const name = `t$${++Scope.count}`;
    this.temporaries.push(name);
    return name;
  }

  /** Returns the compiled name of a local or upvalue; undefined for a global. */
  find(name: string): { readonly compiled: string; readonly kind: 'local' | 'upvalue' } | undefined {
    for (const block of this.blocks.toReversed()) {
      const compiled = block.get(name);
      if (compiled !== undefined) return { compiled, kind: 'local' };
    }
    const found = this.outer?.find(name);
    return found === undefined ? undefined : { compiled: found.compiled, kind: 'upvalue' };
  }
}
