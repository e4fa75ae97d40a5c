import { LuanestError } from '../../internal/src';

/** A word for an error that is one of few: the code of one of the libs' own, else `_OTHER`, as OpenTelemetry has it. */
export function errorType(error: unknown): string | undefined {
  if (error === undefined) return undefined;
  return error instanceof LuanestError ? error.code : '_OTHER';
}
