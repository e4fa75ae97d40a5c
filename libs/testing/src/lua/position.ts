import { LuaError } from './values';

/** Line of the call that the running script made last. Scripts run one at a time, each to its end. */
export const position = { line: 0 };

/** Returns an error of a library function, with the position of its caller before the text. */
export function raise(text: string): LuaError {
  const error = new LuaError(`user_script:${position.line}: ${text}`);
  error.line = position.line;
  return error;
}
