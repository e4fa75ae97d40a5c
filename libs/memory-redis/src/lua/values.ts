/** A table. Its only class is LuaTable. */
export interface AnyTable {
  readonly isTable: true;
}

/** The null pointer of C, a light userdata: the value of cjson.null. */
export const NULL_POINTER = { isPointer: true } as const;

/** A value of Lua. nil is undefined. A string has one character for each byte. Several values are an array of JavaScript. */
export type LuaValue = undefined | boolean | number | string | AnyTable | typeof NULL_POINTER | LuaFunction;
/** The result of a function of Lua: one value as it is, none or several as an array. */
export type LuaResult = LuaValue | readonly LuaValue[];
export type LuaFunction = (...args: LuaValue[]) => LuaResult;

export const NOTHING: readonly LuaValue[] = [];

/** An error that Lua raised: error(), redis.call() or a fault such as arithmetic on nil. */
export class LuaError extends Error {
  /** Line of the script at which it was raised; 0 if unknown. */
  line = 0;

  /** @param value what pcall() returns; a text has its position already */
  constructor(readonly value: LuaValue) {
    super(typeof value === 'string' ? value : 'an error object of Lua');
  }
}

/** Returns the first of several values; undefined of an empty list. */
export function first(result: LuaResult): LuaValue {
  return isSeveral(result) ? result[0] : result;
}

/** Returns the values of a result as an array. */
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
