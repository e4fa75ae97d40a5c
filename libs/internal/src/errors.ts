import { oneLine } from './printable';

/**
 * Base class of all errors of luanest. The message is one line.
 *
 * The type of `code` is a literal, so callers can switch on `code`. `cause` is the underlying error, if there is one.
 */
export abstract class LuanestError extends Error {
  /** Name of the kind of error, such as `INVALID_OPTION`, to switch on. It stays the same in all versions. */
  abstract readonly code: string;

  constructor(message: string, options?: { cause?: unknown }) {
    super(oneLine(message), options);
    this.name = new.target.name;
  }
}

/**
 * An option of a module, a decorator or a call is unknown, invalid, or in conflict with another option. Also thrown if a decorator is
 * applied to a wrong member, or if a module is imported twice. Thrown when a class is loaded, at boot, or by the call.
 */
export class InvalidOptionError extends LuanestError {
  readonly code = 'INVALID_OPTION';
}

/**
 * The call had no effect, and will not be sent later, so it is safe to repeat the call. The call was never written to a socket, or each
 * node that got the call refused it. `ScriptRegistry.listen` also rejects with this error if its subscription fails.
 */
export class NotSentError extends LuanestError {
  readonly code = 'NOT_SENT';
}

/**
 * The reply to the call is missing. The script may have run, or may still run. This error is also used if the call was sent twice and Redis
 * refused the second copy, because the first copy may have run.
 *
 * An operation of several calls also rejects with this error if one call failed without an effect, but another call may have changed
 * something. In this case, `cause` is the error of the call that had no effect.
 *
 * Repeat the call only if a second run of the script is harmless, or if it returns the result of the first run.
 */
export class UnknownOutcomeError extends LuanestError {
  readonly code = 'UNKNOWN_OUTCOME';
}

/** Redis refused to run the script (OOM, READONLY, NOPERM, ...) each time the call was sent. So the call had no effect. */
export class ScriptRefusedError extends LuanestError {
  readonly code = 'SCRIPT_REFUSED';

  /** @param redisCode first word of Redis' error, such as `READONLY` */
  constructor(
    message: string,
    readonly redisCode: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

// See DECISIONS.md: misuse-shares-classes
/**
 * An argument or a value is missing, invalid or unknown. The message names the lib, the value and what is allowed. Nothing was written to
 * Redis, with two exceptions: for `MALFORMED_PAYLOAD`, the message was in Redis already; if the result of a task is too large
 * (`TASK_TOO_LARGE`), the task was in Redis already.
 */
export class InvalidInputError extends LuanestError {
  /**
   * - `INVALID_INPUT`: an argument of a method is invalid
   * - `INVALID_CALL`: a key or an argument of a script is invalid
   * - `INVALID_KEY`: a prefix, a name, an id or another part of a key is invalid
   * - `CROSS_SLOT`: the keys of one call of a script are in different hash slots. Also thrown on a single Redis
   * - `TASK_TOO_LARGE`: the payload or the result of a task has more than `maxPayloadBytes` bytes as JSON
   * - `INVALID_OUTCOME`: an argument of `retryLater` or `deadLetter` is invalid, or a handler of batches returned an array of the wrong
   *   length. Also used if code of the app has replaced a handler method by a value that is not a function
   * - `MALFORMED_PAYLOAD`: the payload of a message is missing or not JSON
   */
  readonly code: InputCode;

  /** @param options `cause`, and `code`, which is `INVALID_INPUT` by default */
  constructor(message: string, options?: { cause?: unknown; code?: InputCode }) {
    super(message, options);
    this.code = options?.code ?? 'INVALID_INPUT';
  }
}

type InputCode =
  | 'INVALID_INPUT'
  | 'INVALID_CALL'
  | 'INVALID_KEY'
  | 'CROSS_SLOT'
  | 'TASK_TOO_LARGE'
  | 'INVALID_OUTCOME'
  | 'MALFORMED_PAYLOAD';

/**
 * The setup of a module, a decorator, a script, a handler or a test cannot work. Thrown when the class is loaded, at boot, or at the
 * first call.
 */
export class SetupError extends LuanestError {
  /**
   * - `SETUP`: decorators or providers cannot work, such as a decorator whose module is missing
   * - `INVALID_SCRIPT`: the definition of a script contradicts itself or its Lua source
   * - `SCRIPT_CONFLICT`: two different scripts of one ScriptRegistry have the same name
   * - `SCRIPT_NOT_REGISTERED`: a call used a script that is not registered; nothing was sent
   * - `MISSING_PERMISSION`: the Redis user lacks permissions for commands or keys that the scripts need
   * - `UNKNOWN_TASK`: only in dead letters; no worker had a handler for the name of the task
   * - `TESTING_SETUP`: a test asked for something that the app of the test cannot do, or work of this app did not end in time
   */
  readonly code: SetupCode;

  /** @param options `cause`, and `code`, which is `SETUP` by default */
  constructor(message: string, options?: { cause?: unknown; code?: SetupCode }) {
    super(message, options);
    this.code = options?.code ?? 'SETUP';
  }
}

type SetupCode =
  | 'SETUP'
  | 'INVALID_SCRIPT'
  | 'SCRIPT_CONFLICT'
  | 'SCRIPT_NOT_REGISTERED'
  | 'MISSING_PERMISSION'
  | 'UNKNOWN_TASK'
  | 'TESTING_SETUP';

/** This process no longer holds the lock, the claim, the task or the message, so another process may hold it now. */
export class LostError extends LuanestError {
  readonly code = 'LOST';
}

/** The app is shutting down, so it begins no new work, and running work must stop. */
export class ClosedError extends LuanestError {
  readonly code = 'CLOSED';
}

/**
 * Too few replicas confirmed a write within `replicasTimeoutMs`. The field `during` names the write:
 * - `claim`: a lock, a run of a job or an id was claimed, but nothing ran, and the claim was released. If the release failed, the claim
 *   ends with its lease.
 * - `renew`: the renewal of a lease does not count, so the lease keeps the end that it had before.
 * - `confirm`: the master has stored that the work with an id is done, but a failover may lose this record.
 */
export class NotReplicatedError extends LuanestError {
  readonly code = 'NOT_REPLICATED';

  /**
   * @param during the write that was not replicated in time
   * @param copies number of replicas that confirmed the write in time
   * @param replicas number of replicas that were required
   */
  constructor(
    message: string,
    readonly during: 'claim' | 'renew' | 'confirm',
    readonly copies: number,
    readonly replicas: number,
  ) {
    super(message);
  }
}

/** A handler ran for longer than its `timeoutMs`. */
export class TimeoutError extends LuanestError {
  readonly code = 'TIMEOUT';
}
