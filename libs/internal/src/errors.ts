import { oneLine } from './printable';

/**
 * Base class of luanest's error classes. The message is one line.
 *
 * `code` is a literal type, so callers can switch on it. `cause` is the underlying error, if there is one.
 */
export abstract class LuanestError extends Error {
  /** Name of the kind of error, such as `INVALID_OPTION`. It stays the same between versions. */
  abstract readonly code: string;

  constructor(message: string, options?: { cause?: unknown }) {
    super(oneLine(message), options);
    this.name = new.target.name;
  }
}

/**
 * An option of a module, a decorator or a call is unknown, invalid, or in conflict with another one; or a decorator is applied to a
 * wrong member, or a module is imported twice. Thrown when a class is loaded, at boot, or by the call.
 */
export class InvalidOptionError extends LuanestError {
  readonly code = 'INVALID_OPTION';
}
