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

/** A run may not go on: its lease ended, another has the id, `maxLeaseMs` is over, or the app shuts down. */
export class OnceLostError extends LuanestError {
  readonly code = 'ONCE_LOST';

  /**
   * @param id of the run
   * @param because completes the sentence "The run was lost: ..."
   */
  constructor(
    readonly id: string,
    because: string,
  ) {
    super(`The run was lost: ${because}.`);
  }
}

/**
 * Too few replicas had a claim or a confirmation in time. After a claim nothing ran, and the id was given back. After a
 * confirmation the work has happened, and the id is done unless a failover loses that.
 */
export class OnceNotReplicatedError extends LuanestError {
  readonly code = 'ONCE_NOT_REPLICATED';

  /**
   * @param during what was not replicated
   * @param copies how many replicas had it
   * @param replicas how many had to
   */
  constructor(
    readonly during: 'claim' | 'confirm',
    readonly copies: number,
    readonly replicas: number,
  ) {
    super(
      `The ${during === 'claim' ? 'claim' : 'confirmation'} reached ${copies} of ${replicas} replicas in time. ` +
        (during === 'claim'
          ? 'It was given back, and nothing ran.'
          : 'The work has happened; a failover may lose the confirmation, and then it can happen again.'),
    );
  }
}
