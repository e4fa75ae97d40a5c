import { LuanestError } from '../../internal/src';

export {
  ClosedError,
  InvalidInputError,
  InvalidOptionError,
  LostError,
  LuanestError,
  NotReplicatedError,
  NotSentError,
  ScriptRefusedError,
  SetupError,
  TimeoutError,
  UnknownOutcomeError,
} from '../../internal/src';

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
