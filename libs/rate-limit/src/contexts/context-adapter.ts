import type { ExecutionContext } from '@nestjs/common';
import type { RateLimitDecision } from '../rate-limit.types';

/** Response to a refused request. */
export interface RateLimitRefusal {
  /** Decision that refused the request. */
  readonly decision: RateLimitDecision;
  /** HTTP status: 429 for a limit, 503 if Redis failed and the policy is `deny`. */
  readonly status: number;
  /** RFC 9457 problem details, or the body of the option `responses.problem`. */
  readonly body: object;
}

/** Adapter of one kind of context. For kinds that the guard does not know, see the option `contexts`. */
export interface RateLimitContextAdapter {
  /** Returns the client's address; undefined if it is unknown. */
  address(context: ExecutionContext): string | undefined;
  /** Sets headers of the response. Omit it if there is no response. */
  setHeaders?(context: ExecutionContext, headers: Readonly<Record<string, string>>): void;
  /** Returns the error that is thrown for a refused call. */
  refusal(context: ExecutionContext, refusal: RateLimitRefusal): Error;
  /** Returns an object that belongs to this call alone and is the same in guards and interceptors. */
  call(context: ExecutionContext): object | undefined;
  /**
   * Calls `sent` once when the response has been sent, with true for a failure; never if the client is gone before. Omit it
   * if there is no response: RateLimitInterceptor then reports the outcome of the handler.
   */
  onSent?(context: ExecutionContext, sent: (failed: boolean) => void): void;
}
