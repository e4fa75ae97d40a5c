import { oneLine } from './printable';

/**
 * The base of every error that luanest throws. Its message is one line.
 *
 * `code` is a literal that callers may switch on; `cause` holds the underlying error, if there is one.
 */
export abstract class LuanestError extends Error {
  /** Stable name of the kind of error. */
  abstract readonly code: string;

  constructor(message: string, options?: { cause?: unknown }) {
    super(oneLine(message), options);
    this.name = new.target.name;
  }
}

/** An option of a module has a value that cannot work; thrown at boot. */
export class InvalidOptionError extends LuanestError {
  readonly code = 'INVALID_OPTION';
}
