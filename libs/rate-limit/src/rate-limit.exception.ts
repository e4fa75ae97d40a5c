import { HttpException } from '@nestjs/common';
import type { RateLimitDecision } from './rate-limit.types';

/** A refused HTTP request: 429, or 503 where Redis did not answer and the policy denies. The body is the response. */
export class RateLimitException extends HttpException {
  constructor(
    readonly decision: RateLimitDecision,
    status: number,
    body: object,
  ) {
    super(body, status, { description: 'Too Many Requests' });
    this.message = decision.reason === 'redis-error' ? 'Rate limit unavailable' : 'Too Many Requests';
  }
}
