/** A compiled expression. */
export interface Expression {
  /** JavaScript that computes one value, or a LuaResult if `several` is true. */
  readonly code: string;
  /** True for calls and ..., which may have any number of values. */
  readonly several?: boolean;
  /** True if the value is always a boolean of JavaScript. */
  readonly isBoolean?: boolean;
  /** Set for constants: true for all but nil and false. */
  readonly truth?: boolean;
  /** Value of a number that Lua knows before it runs. */
  readonly numeral?: number;
  /** How errors name the value: "local 'x'", "global 'x'", "field 'x'"; empty if it has no name. */
  readonly name?: string;
  /** How to assign to it; undefined for what is not a variable. */
  readonly assign?: (value: string) => string;
  /** Table and key of a field, which an assignment to several variables computes before it assigns the first one. */
  readonly field?: {
    readonly owner: string;
    readonly key: string;
    readonly set: (owner: string, key: string, value: string) => string;
  };
  /** How a return statement calls it; undefined for what is not a call. */
  readonly tail?: string;
}

/** Returns JavaScript for exactly one value. */
export function single({ code, several }: Expression): string {
  if (several !== true) return code;
  return code === 'varargs' ? 'varargs[0]' : `$1(${code})`;
}

/** Returns JavaScript for true or false, by the truth of Lua. */
export function condition(expression: Expression): string {
  return expression.isBoolean === true ? `(${single(expression)})` : `$t(${single(expression)})`;
}

/** Returns how errors name an expression, as JavaScript. */
export function nameOf({ name = '' }: Expression): string {
  if (name === '') return "''";
  // C ends a name at a zero byte.
  return JSON.stringify(name.includes('\0') ? name.replace(/\0[\s\S]*(?=')/, '') : name);
}

/** Returns the values of a list of expressions as elements of an array in JavaScript. */
export function listCode(list: readonly Expression[]): string[] {
  return list.map((expression, index) => {
    if (index < list.length - 1 || expression.several !== true) return single(expression);
    return expression.code === 'varargs' ? '...varargs' : `...$s(${expression.code})`;
  });
}
