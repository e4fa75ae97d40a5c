import { LuaError, type LuaFunction, type LuaResult, type LuaValue } from './values';

/**
 * The last call that the running script made, for error messages. It is global, because scripts run one at a time, each to its end.
 *
 * A line of 0 means that the line is unknown, because a library function such as pcall() made the call.
 */
export const position = {
  /** Line of the script in which the call is. */
  line: 0,
  /** Name of the called function in error messages: "global 'tostring'", "method 'rep'", or '' for a value without a name. */
  name: '',
  /** As `line`, but 0 for a call in a return statement (tail call), because Lua forgets the function that made it. */
  calledFrom: 0,
  /** Line at which the function that contains the call was called. */
  outer: 0,
  /** Number of loop rounds and calls until the time limit is checked again. */
  steps: 0,
};

/** Returns an error of a library function. Its text begins with the line at which the script called the function. */
export function raise(text: string): LuaError {
  return raiseAt(position.line, text);
}

/** Returns an error whose text begins with a line of the script. If the line is 0, the text has no line. */
export function raiseAt(line: number, text: string): LuaError {
  const error = new LuaError(line === 0 ? text : `user_script:${line}: ${text}`);
  error.line = position.line;
  return error;
}

/** Returns an error with any Lua value. The value is not changed. */
export function raiseValue(value: LuaValue): LuaError {
  const error = new LuaError(value);
  error.line = position.line;
  return error;
}

/** Calls a function of the script from a library function, such as the comparison of table.sort(). */
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
