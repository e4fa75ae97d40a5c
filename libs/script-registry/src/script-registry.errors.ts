import { LuanestError } from '../../internal/src';

export { InvalidOptionError, LuanestError } from '../../internal/src';

/** A script's definition contradicts itself or its Lua source; thrown when the script is defined or registered. */
export class InvalidScriptError extends LuanestError {
  readonly code = 'INVALID_SCRIPT';
}

/** A key or an argument of a call is missing, of the wrong type or out of range; nothing was sent. */
export class InvalidCallError extends LuanestError {
  readonly code = 'INVALID_CALL';
}

/** The keys of one call live in different hash slots, so no Redis Cluster node could run it; nothing was sent. */
export class CrossSlotError extends LuanestError {
  readonly code = 'CROSS_SLOT';
}

/** A subject or segment from which no key can be built. */
export class InvalidKeyError extends LuanestError {
  readonly code = 'INVALID_KEY';
}

/** A script was run on a registry that it was never registered with; nothing was sent. */
export class ScriptNotRegisteredError extends LuanestError {
  readonly code = 'SCRIPT_NOT_REGISTERED';
}

/** Two different scripts were registered under one name. */
export class ScriptConflictError extends LuanestError {
  readonly code = 'SCRIPT_CONFLICT';
}

/** Scripts could not be loaded on every master while `preload` is `required`; thrown by module initialisation. */
export class PreloadFailedError extends LuanestError {
  readonly code = 'PRELOAD_FAILED';
}

/**
 * The call was never written to a socket, or each node that got it refused it, until its deadline: it had no effect. Safe to
 * repeat.
 */
export class NotSentError extends LuanestError {
  readonly code = 'NOT_SENT';
}

/**
 * The call was sent, and at least one sending was not answered: it may or may not have run, or may still run. A refusal
 * of a later sending does not change that.
 *
 * Repeat it only where the script's header says that a replay is harmless or gets the first answer.
 */
export class UnknownOutcomeError extends LuanestError {
  readonly code = 'UNKNOWN_OUTCOME';
}

/** Redis refused to run the script (OOM, READONLY, NOPERM, ...), each time that it was sent: the call had no effect. */
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

/** The script itself raised or returned an error. What it wrote before stays: Redis does not roll back. */
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

/** The reply of a script could not be decoded by its `reply` function. The script did run. */
export class ReplyDecodeError extends LuanestError {
  readonly code = 'REPLY_DECODE';
}
