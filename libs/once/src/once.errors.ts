import { LuanestError } from '../../internal/src';

/** An id, a token, a duration or a result is missing, of the wrong type or out of range; nothing was written. */
export class InvalidOnceInputError extends LuanestError {
  readonly code = 'INVALID_ONCE_INPUT';
}

/** A result is larger than `maxResultBytes`; nothing was written, and the claim is still held. */
export class OnceResultTooLargeError extends LuanestError {
  readonly code = 'ONCE_RESULT_TOO_LARGE';

  /**
   * @param bytes size of the result as JSON, in bytes
   * @param maxResultBytes the most that is stored
   */
  constructor(
    readonly bytes: number,
    readonly maxResultBytes: number,
  ) {
    super(
      `The result has ${bytes} bytes as JSON, and at most ${maxResultBytes} are stored. ` +
        `Nothing was written. Confirm with less, such as an id, or raise maxResultBytes.`,
    );
  }
}

/** A handler under `@Once()` was not run because another is at the same message; deliver it again later. */
export class OnceInProgressError extends LuanestError {
  readonly code = 'ONCE_IN_PROGRESS';

  /** @param retryAfterMs when the present owner's lease ends unless it renews, ms */
  constructor(readonly retryAfterMs: number) {
    super(`Another is at this message. Deliver it again in ${retryAfterMs} ms or later.`);
  }
}
