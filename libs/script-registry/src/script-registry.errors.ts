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
