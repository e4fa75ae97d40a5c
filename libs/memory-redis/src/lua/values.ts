/** A Lua table. LuaTable is its only implementation. */
export interface AnyTable {
  readonly isTable: true;
}

/** Value of cjson.null, which is a null pointer of C (light userdata). */
export const NULL_POINTER = { isPointer: true } as const;

/** A Lua value. nil is undefined. In a string, each character stands for one byte. Several values are an array. */
export type LuaValue = undefined | boolean | number | string | AnyTable | typeof NULL_POINTER | LuaFunction;
/** Result of a Lua function: one value as it is; none or several as an array. */
export type LuaResult = LuaValue | readonly LuaValue[];
export type LuaFunction = (...args: LuaValue[]) => LuaResult;

export const NOTHING: readonly LuaValue[] = [];

/** An error raised in a script: by error(), by redis.call(), or by Lua itself, such as for arithmetic on nil. */
export class LuaError extends Error {
  /** Line of the script that raised the error; 0 if unknown. */
  line = 0;

  /** @param value the value that the script has raised. If it is a string, it already begins with its position: `user_script:3: ` */
  constructor(readonly value: LuaValue) {
    super(typeof value === 'string' ? value : 'an error object of Lua');
  }
}

/** Returns the first value of a result; undefined if there is none. */
export function first(result: LuaResult): LuaValue {
  return isSeveral(result) ? result[0] : result;
}

/** Returns all values of a result as an array. */
export function spread(result: LuaResult): readonly LuaValue[] {
  return isSeveral(result) ? result : [result];
}

function isSeveral(result: LuaResult): result is readonly LuaValue[] {
  return Array.isArray(result);
}

export function isTrue(value: LuaValue): boolean {
  return value !== undefined && value !== false;
}

export function typeOf(value: LuaValue): string {
  if (value === undefined) return 'nil';
  if (value === NULL_POINTER) return 'userdata';
  return typeof value === 'object' ? 'table' : typeof value;
}
