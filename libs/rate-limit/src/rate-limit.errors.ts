import { LuanestError } from '../../internal/src';

/** Error of a call whose subject, cost, limit, duration or rule name is invalid. Nothing was counted. */
export class InvalidRateLimitInputError extends LuanestError {
  readonly code = 'INVALID_RATE_LIMIT_INPUT';
}
