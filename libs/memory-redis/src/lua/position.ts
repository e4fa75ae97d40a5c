import { LuaError, type LuaFunction, type LuaResult, type LuaValue } from './values';

/**
 * Last call of the running script, for error messages. It is global, because scripts run one at a time, each to its end.
 *
 * Line 0 means that the line is unknown, because a library function such as pcall() has made the call.
 */
export const position = {
  /** Line of the script with the call. */
  line: 0,
  /** Name of the called function for error messages: "global 'tostring'", "method 'rep'", or '' for a value without a name. */
  name: '',
  /** Line of the call, which the called function reads at its start; 0 for a tail call, in which Lua forgets the calling function. */
  calledFrom: 0,
  /** Line at which the function that made the last call was called. error() with level 2 shows this line. */
  outer: 0,
  /** Number of loop rounds and calls until the time is checked again. */
  steps: 0,
};

/** Creates the error of a library function. It begins with the line at which the script has called the function. */
export function raise(text: string): LuaError {
  return raiseAt(position.line, text);
}

/** Creates an error that begins with a line of the script. @param line 0 for an error without a line */
export function raiseAt(line: number, text: string): LuaError {
  const error = new LuaError(line === 0 ? text : `user_script:${line}: ${text}`);
  error.line = position.line;
  return error;
}

/** Creates an error with any Lua value, unchanged. */
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
