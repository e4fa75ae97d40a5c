import { LuanestError } from '../../internal/src';

/**
 * Error of a method with `@Once()` that did not run, because another call handles the same message. Deliver the message again
 * later.
 */
export class OnceInProgressError extends LuanestError {
  readonly code = 'ONCE_IN_PROGRESS';

  /** @param retryAfterMs time until the lease of the other call ends, if it is not renewed, ms */
  constructor(readonly retryAfterMs: number) {
    super(
      'The method with @Once() did not run, because another call handles the same message, here or in another process. Deliver the ' +
        `message again in ${retryAfterMs} ms or later.`,
    );
  }
}
