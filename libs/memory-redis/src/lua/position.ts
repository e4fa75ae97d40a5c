import { LuaError, type LuaFunction, type LuaResult, type LuaValue } from './values';

/**
 * The call that the running script made last. Scripts run one at a time, each to its end.
 *
 * A line of 0 means that no line is known: the caller is a library function, such as pcall().
 */
export const position = {
  /** Line of the call. */
  line: 0,
  /** How the script names what it called: "global 'tostring'", "method 'rep'", or '' for a value without a name. */
  name: '',
  /** Line of the call, or 0 for a call in a return statement: Lua forgets the function that made it. */
  calledFrom: 0,
  /** Line at which the function that made the call was itself called. */
  outer: 0,
  /** Loops and calls until somebody looks at the time. */
  steps: 0,
};

/** Returns an error of a library function, with the position of its caller before the text. */
export function raise(text: string): LuaError {
  return raiseAt(position.line, text);
}

/** Returns an error with a line before its text; without a line if the line is 0. */
export function raiseAt(line: number, text: string): LuaError {
  const error = new LuaError(line === 0 ? text : `user_script:${line}: ${text}`);
  error.line = position.line;
  return error;
}

/** Returns an error with a value as it is. */
export function raiseValue(value: LuaValue): LuaError {
  const error = new LuaError(value);
  error.line = position.line;
  return error;
}

/** Calls a function of the script from a library function. */
export function callBack(called: LuaFunction, ...args: LuaValue[]): LuaResult {
  const { line, name, calledFrom, outer } = position;
  position.line = 0;
  position.name = '';
  position.calledFrom = 0;
  position.outer = 0;
  const result = called(...args);
  Object.assign(position, { line, name, calledFrom, outer });
  return result;
}
