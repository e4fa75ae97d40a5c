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

/** An argument of a call is missing, invalid or unknown. The message names the lib, the value and what is allowed. Nothing was written to Redis. */
export class InvalidInputError extends LuanestError {
  readonly code = 'INVALID_INPUT';
}

/** A module, a decorator or a handler is set up in a way that cannot work. Thrown when its class is loaded, at boot, or at the first call. */
export class SetupError extends LuanestError {
  readonly code = 'SETUP';
}

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
 * the claim was released, unless Redis failed at the release: then it ends with its lease. During a confirmation: the id is marked as
 * done on the master, but a failover may lose this.
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
    readonly during: 'claim' | 'confirm',
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
