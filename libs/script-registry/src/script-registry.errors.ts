import { LuanestError } from '../../internal/src';

export { InvalidOptionError, LuanestError } from '../../internal/src';

/** The definition of a script is invalid, or does not fit its Lua source. Thrown by `defineScript`. */
export class InvalidScriptError extends LuanestError {
  readonly code = 'INVALID_SCRIPT';
}

/** A key or an argument of a call is missing, of the wrong type or out of range; nothing was sent. */
export class InvalidCallError extends LuanestError {
  readonly code = 'INVALID_CALL';
}

/**
 * The keys of one call are in different hash slots, so no node of a Cluster could run the call; nothing was sent. Thrown on a single
 * Redis, too.
 */
export class CrossSlotError extends LuanestError {
  readonly code = 'CROSS_SLOT';
}

/** A prefix, a name, an id or another part of a key is invalid; nothing was sent. Thrown by KeySpace. */
export class InvalidKeyError extends LuanestError {
  readonly code = 'INVALID_KEY';
}

/** A call used a script that is not registered with this ScriptRegistry; nothing was sent. */
export class ScriptNotRegisteredError extends LuanestError {
  readonly code = 'SCRIPT_NOT_REGISTERED';
}

/** Two different scripts with the same name were registered with one ScriptRegistry. */
export class ScriptConflictError extends LuanestError {
  readonly code = 'SCRIPT_CONFLICT';
}

/** A master lacks scripts or is not connected while `preload` is `required`; boot fails with this error. */
export class PreloadFailedError extends LuanestError {
  readonly code = 'PRELOAD_FAILED';
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

/**
 * The script itself raised or returned an error, does not compile, or Redis replied with an error that is not known as a refusal.
 * The script's writes before the error stay, because Redis does not roll back.
 */
export class ScriptFailedError extends LuanestError {
  readonly code = 'SCRIPT_FAILED';

  /** @param redisCode first word of the error, such as `WRONGTYPE` or `ERR` */
  constructor(
    message: string,
    readonly redisCode: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** The script ran, but its result is lost: its `reply` function threw, or the reply lacks values. */
export class ReplyDecodeError extends LuanestError {
  readonly code = 'REPLY_DECODE';
}
