import { LuanestError } from '../../internal/src';

/** The result for `confirm` is larger than `maxResultBytes`. The call wrote nothing, so the claim is as before. */
export class OnceResultTooLargeError extends LuanestError {
  readonly code = 'ONCE_RESULT_TOO_LARGE';

  /**
   * @param bytes size of the result as JSON, or of the body of a response, bytes
   * @param maxResultBytes maximum of the module, bytes
   */
  constructor(
    readonly bytes: number,
    readonly maxResultBytes: number,
  ) {
    super(
      `The result has ${bytes} bytes (as JSON; of a response only its body). The maximum is ${maxResultBytes}, of a response with ` +
        'status and headers. The id was not confirmed. ' +
        `Confirm it with a smaller result, such as an id, or raise maxResultBytes of OnceModule.`,
    );
  }
}

/** A method with `@Once()` did not run, because another call has claimed the same message. Deliver the message again later. */
export class OnceInProgressError extends LuanestError {
  readonly code = 'ONCE_IN_PROGRESS';

  /** @param retryAfterMs time until the lease of the other call ends, unless that call renews it, ms */
  constructor(readonly retryAfterMs: number) {
    super(
      `Another call has claimed this message, here or in another process. Deliver the message again in ${retryAfterMs} ms or later.`,
    );
  }
}
