/** A Lua table. LuaTable is its only implementation. */
export interface AnyTable {
  readonly isTable: true;
}

/** The value of cjson.null: a null pointer of C (light userdata). */
export const NULL_POINTER = { isPointer: true } as const;

/** A Lua value. nil is undefined. Each character of a string is one byte. A list of several values is an array. */
export type LuaValue = undefined | boolean | number | string | AnyTable | typeof NULL_POINTER | LuaFunction;
/** The result of a Lua function: a single value as it is; no value or several values as an array. */
export type LuaResult = LuaValue | readonly LuaValue[];
export type LuaFunction = (...args: LuaValue[]) => LuaResult;

export const NOTHING: readonly LuaValue[] = [];

/** An error raised in a script: by error(), by redis.call(), or by Lua itself, such as for arithmetic on nil. */
export class LuaError extends Error {
  /** Line of the script that raised the error; 0 if unknown. */
  line = 0;

  /** @param value the value that pcall() returns. A string already begins with its position */
  constructor(readonly value: LuaValue) {
    super(typeof value === 'string' ? value : 'an error object of Lua');
  }
}

/** Returns the first value of a result; undefined if the result is an empty list. */
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
