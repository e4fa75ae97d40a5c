import { LuanestError } from '../../internal/src';

/**
 * Invalid input: a subject (the counted client or user), cost, limit, duration or rule in a call, the result of a rule's
 * function, or the result of a mock of RateLimitService. Nothing was counted.
 */
export class InvalidRateLimitInputError extends LuanestError {
  readonly code = 'INVALID_RATE_LIMIT_INPUT';
}
