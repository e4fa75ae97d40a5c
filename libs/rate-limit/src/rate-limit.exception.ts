import { HttpException } from '@nestjs/common';
import type { RateLimitDecision } from './rate-limit.types';

/** `extensions` of a refused GraphQL field. */
export interface RateLimitErrorExtensions {
  /** `RATE_LIMIT_UNAVAILABLE` if Redis did not answer and the policy denies. */
  readonly code: 'RATE_LIMITED' | 'RATE_LIMIT_UNAVAILABLE';
  /** 429 or 503, as an HTTP request gets. */
  readonly status: number;
  /** Until the field may be asked for again, ms; missing if it never passes, or nobody knows. */
  readonly retryAfterMs?: number;
  /** Names of the rules that refuse; missing if Redis did not answer. */
  readonly violatedPolicies?: readonly string[];
}

/** A refused HTTP request: 429, or 503 if Redis did not answer and the policy denies. The body is the response. */
export class RateLimitException extends HttpException {
  /** GraphQL servers copy it into the error that the client gets; HTTP responses leave it out. */
  readonly extensions: RateLimitErrorExtensions;

  constructor(
    readonly decision: RateLimitDecision,
    status: number,
    body: object,
  ) {
    const unavailable = decision.reason === 'redis-error';
    super(body, status, { description: unavailable ? 'Service Unavailable' : 'Too Many Requests' });
    this.message = unavailable ? 'Rate limit unavailable' : 'Too Many Requests';
    this.extensions = unavailable ? { code: 'RATE_LIMIT_UNAVAILABLE', status } : limited(decision, status);
  }
}

function limited({ retryAfterMs, rules }: RateLimitDecision, status: number): RateLimitErrorExtensions {
  const violatedPolicies = rules.filter(({ allowed, shadow }) => !allowed && !shadow).map(({ name }) => name);
  // JSON has no Infinity.
  return {
    ...{ code: 'RATE_LIMITED', status, violatedPolicies },
    ...(Number.isFinite(retryAfterMs) ? { retryAfterMs } : {}),
  };
}
