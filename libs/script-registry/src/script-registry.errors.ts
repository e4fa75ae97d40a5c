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

/** A prefix, subject, name or segment that cannot be part of a key; nothing was sent. */
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
 * The call had no effect: until its deadline it was not written to a socket, or each node that got it refused it. It is safe
 * to repeat.
 */
export class NotSentError extends LuanestError {
  readonly code = 'NOT_SENT';
}

/**
 * The call was sent at least once without getting a reply: it may have run, or may still run. If it was sent again and then
 * refused, that does not change.
 *
 * Repeat it only if a second run of the script is harmless, or returns the first result. The script's header says so.
 */
export class UnknownOutcomeError extends LuanestError {
  readonly code = 'UNKNOWN_OUTCOME';
}

/** Redis refused to run the script (OOM, READONLY, NOPERM, ...), each time it was sent: the call had no effect. */
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
