import { HttpException } from '@nestjs/common';
import type { RateLimitDecision } from './rate-limit.types';

/** Details of a refusal that a GraphQL client gets in the field `extensions` of the error. */
export interface RateLimitErrorExtensions {
  /**
   * `RATE_LIMITED`: a rule refused the field. `RATE_LIMIT_UNAVAILABLE`: Redis failed, or the circuit breaker was open, and `onRedisError`
   * is `deny`.
   */
  readonly code: 'RATE_LIMITED' | 'RATE_LIMIT_UNAVAILABLE';
  /** HTTP status: 429 or 503. */
  readonly status: number;
  /** Time until the field may be allowed, ms; missing if waiting does not help, and for `RATE_LIMIT_UNAVAILABLE`. */
  readonly retryAfterMs?: number;
  /** Names of the rules that refused the field, after a cached refusal only one of them; missing for `RATE_LIMIT_UNAVAILABLE`. */
  readonly violatedPolicies?: readonly string[];
}

/**
 * Error of a refused HTTP request or GraphQL field, and of any other refused call for which the guard has no adapter. The status is 429 if
 * a rule refused, and 503 if Redis failed (or the circuit breaker was open) and `onRedisError` is `deny`.
 */
export class RateLimitException extends HttpException {
  /**
   * Details for GraphQL clients. By default, GraphQL servers copy this object into the error that the client gets. Nest does not
   * send it for HTTP routes.
   */
  readonly extensions: RateLimitErrorExtensions;

  constructor(
    readonly decision: RateLimitDecision,
    status: number,
    body: object,
  ) {
    const unavailable = decision.reason === 'redis-error';
    super(body, status, { description: unavailable ? 'Service Unavailable' : 'Too Many Requests' });
    this.message = unavailable ? 'The rate limit cannot be checked, because Redis does not reply' : 'Too Many Requests';
    this.extensions = unavailable ? { code: 'RATE_LIMIT_UNAVAILABLE', status } : limited(decision, status);
  }
}

function limited({ retryAfterMs, rules }: RateLimitDecision, status: number): RateLimitErrorExtensions {
  const violatedPolicies = rules.filter(({ allowed, shadow }) => !allowed && !shadow).map(({ name }) => name);
  return {
    ...{ code: 'RATE_LIMITED', status, violatedPolicies },
    // JSON has no Infinity, so the field is left out.
    ...(Number.isFinite(retryAfterMs) ? { retryAfterMs } : {}),
  };
}
