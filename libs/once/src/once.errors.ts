import { LuanestError } from '../../internal/src';

/** `@Once()` was called on an object that Nest did not create, so it has no OnceService; nothing ran. */
export class OnceSetupError extends LuanestError {
  readonly code = 'ONCE_SETUP';
}

/** An id, a token, a duration or a result is missing, has a wrong type or is out of range; nothing was written. */
export class InvalidOnceInputError extends LuanestError {
  readonly code = 'INVALID_ONCE_INPUT';
}

/** A result is larger than `maxResultBytes`; nothing was written, and the claim is still held. */
export class OnceResultTooLargeError extends LuanestError {
  readonly code = 'ONCE_RESULT_TOO_LARGE';

  /**
   * @param bytes size of the result as JSON, in bytes
   * @param maxResultBytes the maximum, bytes
   */
  constructor(
    readonly bytes: number,
    readonly maxResultBytes: number,
  ) {
    super(
      `The result has ${bytes} bytes as JSON. The maximum is ${maxResultBytes}. ` +
        `Nothing was written. Confirm with a smaller result, such as an id, or raise maxResultBytes.`,
    );
  }
}

/** A handler with `@Once()` did not run, because another process handles the same message. Deliver the message again later. */
export class OnceInProgressError extends LuanestError {
  readonly code = 'ONCE_IN_PROGRESS';

  /** @param retryAfterMs time until the owner's lease ends unless the owner renews it, ms */
  constructor(readonly retryAfterMs: number) {
    super(`Another process handles this message. Deliver it again in ${retryAfterMs} ms or later.`);
  }
}

/** A run must not go on: its lease ended, another owner has the id, `maxLeaseMs` is over, or the app shuts down. */
export class OnceLostError extends LuanestError {
  readonly code = 'ONCE_LOST';

  /**
   * @param id of the run; '' in the signal of a request that runs unprotected
   * @param because completes the sentence "The run must not go on: ..."
   */
  constructor(
    readonly id: string,
    because: string,
  ) {
    super(`The run must not go on: ${because}.`);
  }
}

/**
 * Too few replicas had a claim or a confirmation in time. During a claim: nothing ran, and the id was released. During a
 * confirmation: the work is done, and so is the id, unless a failover loses the confirmation.
 */
export class OnceNotReplicatedError extends LuanestError {
  readonly code = 'ONCE_NOT_REPLICATED';

  /**
   * @param during the call that was not replicated
   * @param copies number of replicas that had it in time
   * @param replicas number of replicas that were required
   */
  constructor(
    readonly during: 'claim' | 'confirm',
    readonly copies: number,
    readonly replicas: number,
  ) {
    super(
      `The ${during === 'claim' ? 'claim' : 'confirmation'} reached ${copies} of ${replicas} replicas in time. ` +
        (during === 'claim'
          ? 'It was released, and nothing ran.'
          : 'The work is done. A failover may lose the confirmation, and then the work can run again.'),
    );
  }
}
