import { LuanestError } from '../../internal/src';

export {
  ClosedError,
  InvalidInputError,
  LostError,
  LuanestError,
  NotReplicatedError,
  NotSentError,
  ScriptRefusedError,
  SetupError,
  TimeoutError,
  UnknownOutcomeError,
} from '../../internal/src';

/** The boot failed: `preload` is `required`, and a master lacks scripts or is not connected. */
export class PreloadFailedError extends LuanestError {
  readonly code = 'PRELOAD_FAILED';
}

/**
 * The script raised or returned an error, or it does not compile. Also thrown if Redis replied with an error that luanest does not know.
 * Writes that the script made before the error stay, because Redis does not roll back.
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

/** The script ran, but its result is lost, because its `reply` function threw an error, or the reply of Redis lacks values. */
export class ReplyDecodeError extends LuanestError {
  readonly code = 'REPLY_DECODE';
}
