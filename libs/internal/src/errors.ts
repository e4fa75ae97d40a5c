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

/**
 * The call had no effect, so it is safe to repeat: it was never written to a socket, or each node that got it refused it, and it
 * will not be sent later. A subscription of `listen` that failed rejects with this error, too.
 */
export class NotSentError extends LuanestError {
  readonly code = 'NOT_SENT';
}

/**
 * The call may have been sent, or may still be sent, and its reply is missing. So the script may have run, or may still run. If
 * the call was sent again and then refused, the first sending may have run nevertheless.
 *
 * An operation that makes several calls rejects with this error, too, if one of them had no effect after others may have had one.
 * Then the `cause` is the error of that call.
 *
 * Repeat the call only if a second run of the script is harmless, or returns the first result.
 */
export class UnknownOutcomeError extends LuanestError {
  readonly code = 'UNKNOWN_OUTCOME';
}

/** Redis refused to run the script (OOM, READONLY, NOPERM, ...) each time it was sent, so the call had no effect. */
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
 * An argument or a value is missing, invalid or unknown. The message names the lib, the value and what is allowed. Nothing was written
 * to Redis, except for `MALFORMED_PAYLOAD`, whose message was read from there, and for the result of a task with `TASK_TOO_LARGE`.
 */
export class InvalidInputError extends LuanestError {
  /**
   * - `INVALID_INPUT`: an argument of a call
   * - `INVALID_CALL`: a key or an argument of a script
   * - `INVALID_KEY`: a prefix, a name, an id or another part of a key
   * - `CROSS_SLOT`: the keys of one call of a script are in different hash slots. Thrown on a single Redis, too
   * - `TASK_TOO_LARGE`: the payload or the result of a task has more than `maxPayloadBytes` bytes as JSON
   * - `INVALID_OUTCOME`: the arguments of `retryLater` or `deadLetter`, or a handler that is no longer a function
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
 * A module, a decorator, a script, a handler or a test is set up in a way that cannot work. Thrown when its class is loaded, at boot, or at
 * the first call.
 */
export class SetupError extends LuanestError {
  /**
   * - `SETUP`: decorators or providers that cannot work
   * - `INVALID_SCRIPT`: the definition of a script contradicts itself or its Lua source
   * - `SCRIPT_CONFLICT`: two different scripts of one ScriptRegistry have the same name
   * - `SCRIPT_NOT_REGISTERED`: a call used a script that is not registered; nothing was sent
   * - `MISSING_PERMISSION`: the Redis user may not run commands that the scripts need, or not on their keys
   * - `UNKNOWN_TASK`: in a dead letter, no worker had a handler for the name of the task
   * - `TESTING_SETUP`: a test asked for something that its app cannot do, or work of the app did not end in time
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

/** The lock, the claim, the task or the message is no longer held. */
export class LostError extends LuanestError {
  readonly code = 'LOST';
}

/** The app is shutting down, so nothing new is begun, or what runs must stop. */
export class ClosedError extends LuanestError {
  readonly code = 'CLOSED';
}

/**
 * Too few replicas confirmed a write within `replicasTimeoutMs`. During a claim (of a lock, a run of a job or an id): nothing ran, and
 * the claim was released, unless Redis failed at the release: then it ends with its lease. During a renewal: the lease keeps the end
 * that the replicas know. During a confirmation: the id is marked as done on the master, but a failover may lose this.
 */
export class NotReplicatedError extends LuanestError {
  readonly code = 'NOT_REPLICATED';

  /**
   * @param during write that was not replicated in time
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
