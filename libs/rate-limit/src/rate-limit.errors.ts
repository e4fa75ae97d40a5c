import { LuanestError } from '../../internal/src';

/** A subject, a cost, a limit or a duration of a call is missing or out of range; nothing was counted. */
export class InvalidRateLimitInputError extends LuanestError {
  readonly code = 'INVALID_RATE_LIMIT_INPUT';
}
