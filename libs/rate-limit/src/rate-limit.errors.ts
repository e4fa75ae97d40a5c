import { LuanestError } from '../../internal/src';

/**
 * A subject (the counted client or user), cost, limit, duration or rule name is invalid, in a call or as the result of a
 * rule's function. Nothing was counted.
 */
export class InvalidRateLimitInputError extends LuanestError {
  readonly code = 'INVALID_RATE_LIMIT_INPUT';
}
