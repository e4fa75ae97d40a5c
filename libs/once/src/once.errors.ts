import { LuanestError } from '../../internal/src';

/**
 * A method with `@Once()`, or a route with `@Idempotent()`, was called without an OnceService: no app with OnceModule made the
 * object, code called the method before the app was initialised, or a mock of the service lacks the method that is needed.
 * Nothing ran. At boot: the module of an idempotent route can inject OnceService, but not the rest of OnceModule.
 */
export class OnceSetupError extends LuanestError {
  readonly code = 'ONCE_SETUP';
}

/**
 * An argument, or what a function of the app returned (`id`, `subject`, `fingerprint`), is missing, has a wrong type, is out of
 * range or cannot be written as JSON. The call wrote nothing.
 */
export class InvalidOnceInputError extends LuanestError {
  readonly code = 'INVALID_ONCE_INPUT';
}

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

/**
 * The code of a run must stop, because the run does not own its id (any more) or the app shuts down. `OnceRun.signal` has this
 * error as its reason, and `OnceRun.assertHeld` throws it.
 */
export class OnceLostError extends LuanestError {
  readonly code = 'ONCE_LOST';

  /**
   * @param id id of the run; '' in the signal of a request that runs without a claim
   * @param because completes the sentence "The run must stop, because ..."
   */
  constructor(
    readonly id: string,
    because: string,
  ) {
    super(`The run must stop, because ${because}.`);
  }
}

/**
 * Too few replicas confirmed a write within `replicasTimeoutMs`. During a claim: nothing ran, and the id was released, unless Redis
 * failed at the release. During a confirmation: the id is marked as done on the master, but a failover may lose this.
 */
export class OnceNotReplicatedError extends LuanestError {
  readonly code = 'ONCE_NOT_REPLICATED';

  /**
   * @param during call whose write was not replicated in time
   * @param copies number of replicas that confirmed the write in time
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
          ? 'Nothing ran. The claim was released, unless Redis failed at the release.'
          : 'The id is marked as done on the master. If a failover loses this mark, the work may run again.'),
    );
  }
}
