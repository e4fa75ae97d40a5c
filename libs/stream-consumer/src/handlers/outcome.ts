import { unfinishedOutcome, type DeadLetter, type RetryLater } from '../../../internal/src';

/** Outcome of a handler: the message was handled. Made by `commit`. */
export class Commit {
  readonly kind = 'commit';

  /** Lets JSON.stringify() leave this outcome out, for code that stores what handlers return. */
  toJSON(): undefined {
    return undefined;
  }
}

const COMMIT = new Commit();

/**
 * Makes the outcome of a message that was handled. A handler may return nothing instead. A filter that handles an error must
 * return it, and so must an interceptor that replaces the handler's `retryLater()` or `deadLetter()`.
 */
export function commit(): Commit {
  return COMMIT;
}

/** Outcome of an attempt that failed. */
export class Failure {
  readonly kind = 'failure';
  constructor(readonly error: unknown) {}
}

/** Outcome of an attempt. */
export type Outcome = Commit | RetryLater | DeadLetter | Failure;

/** Returns true for `commit()` and for the results of `retryLater` and `deadLetter`. Never throws. */
export function isOutcome(value: unknown): boolean {
  return value === COMMIT || unfinishedOutcome(value) !== undefined;
}

/** Returns the outcome of a handler that returned a value. A value that is not an outcome means that the message was handled. */
export function outcomeOf(value: unknown): Outcome {
  return value === undefined ? COMMIT : (unfinishedOutcome(value) ?? COMMIT);
}

/** Returns the outcome of a handler that threw: a thrown outcome, or a failure. A thrown `commit()` is a failure. */
export function outcomeOfThrown(thrown: unknown): Outcome {
  return unfinishedOutcome(thrown) ?? new Failure(thrown);
}
