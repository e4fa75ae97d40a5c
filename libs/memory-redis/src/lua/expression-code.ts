/** A Lua expression that was compiled to JavaScript. */
export interface Expression {
  /** JavaScript that calculates one value, or a LuaResult if `several` is true. */
  readonly code: string;
  /** True if the expression may have any number of values: for calls and `...`. */
  readonly several?: boolean;
  /** True if the value is always true or false, which needs no conversion in a condition. */
  readonly isBoolean?: boolean;
  /** The truth of a constant in Lua: false for nil and false, true for all others. Undefined if the expression is not a constant. */
  readonly truth?: boolean;
  /** The value of a numeric expression that can be calculated before the script runs. */
  readonly numeral?: number;
  /** The name of the value in error messages: "local 'x'", "global 'x'", "field 'x'"; empty if the value has no name. */
  readonly name?: string;
  /** Returns JavaScript that assigns a value to the expression. Undefined if the expression is not a variable. */
  readonly assign?: (value: string) => string;
  /**
   * The JavaScript for the table and the key of a field. An assignment to several variables calculates all tables and keys before it
   * assigns the first value.
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

/** Returns JavaScript for a condition: only nil and false are false in Lua. */
export function condition(expression: Expression): string {
  return expression.isBoolean === true ? `(${single(expression)})` : `$t(${single(expression)})`;
}

/** Returns a JavaScript string literal with the name of an expression in error messages. */
export function nameOf({ name = '' }: Expression): string {
  if (name === '') return "''";
  // Lua is written in C, where a zero byte ends the name.
  return JSON.stringify(name.includes('\0') ? name.replace(/\0[\s\S]*(?=')/, '') : name);
}

/** Returns JavaScript for the elements of an array that has the values of a list of expressions. Only the last one gives all its values. */
export function listCode(list: readonly Expression[]): string[] {
  return list.map((expression, index) => {
    if (index < list.length - 1 || expression.several !== true) return single(expression);
    return expression.code === 'varargs' ? '...varargs' : `...$s(${expression.code})`;
  });
}
