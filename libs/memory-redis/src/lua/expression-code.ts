/** A Lua expression that was compiled to JavaScript. */
export interface Expression {
  /** JavaScript that computes the value, or all values if `several` is true. */
  readonly code: string;
  /** True if the expression may have any number of values: a call or `...`. */
  readonly several?: boolean;
  /** True if the value is a boolean, which a condition need not convert. */
  readonly isBoolean?: boolean;
  /** Truth of a constant: false for nil and false, true for all others. Undefined if the expression is not a constant. */
  readonly truth?: boolean;
  /** Value of a number that is known before the script runs. */
  readonly numeral?: number;
  /** The name of the value in error messages: "local 'x'", "global 'x'", "field 'x'"; empty if the value has no name. */
  readonly name?: string;
  /** Returns JavaScript that assigns a value. Undefined if the expression is not a variable. */
  readonly assign?: (value: string) => string;
  /**
   * JavaScript for the table and the key of a field. In an assignment to several variables, they are computed before the first value is
   * assigned.
   */
  readonly field?: {
    readonly owner: string;
    readonly key: string;
    readonly set: (owner: string, key: string, value: string) => string;
  };
  /** JavaScript for the call in a return statement (tail call). Undefined if the expression is not a call. */
  readonly tail?: string;
}

/** Returns JavaScript that calculates exactly one value. */
export function single({ code, several }: Expression): string {
  if (several !== true) return code;
  return code === 'varargs' ? 'varargs[0]' : `$1(${code})`;
}

/** Returns JavaScript for a condition, in which only nil and false count as false. */
export function condition(expression: Expression): string {
  return expression.isBoolean === true ? `(${single(expression)})` : `$t(${single(expression)})`;
}

/** Returns the name of an expression for error messages, as a JavaScript string literal. */
export function nameOf({ name = '' }: Expression): string {
  if (name === '') return "''";
  // Lua is written in C, where a zero byte ends a name.
  return JSON.stringify(name.includes('\0') ? name.replace(/\0[\s\S]*(?=')/, '') : name);
}

/** Returns JavaScript for the elements of an array with the values of several expressions. Only the last one may give several values. */
export function listCode(list: readonly Expression[]): string[] {
  return list.map((expression, index) => {
    if (index < list.length - 1 || expression.several !== true) return single(expression);
    return expression.code === 'varargs' ? '...varargs' : `...$s(${expression.code})`;
  });
}
