import { LuanestError } from '../../internal/src';

/** Returns the attribute `error.type`: the `code` of a LuanestError, `_OTHER` for any other error; undefined if there is no error. */
export function errorType(error: unknown): string | undefined {
  if (error === undefined) return undefined;
  return error instanceof LuanestError ? error.code : '_OTHER';
}
