import type { ExecutionContext } from '@nestjs/common';
import type { RateLimitDecision } from '../rate-limit.types';

/** What a refused request is answered with. */
export interface RateLimitRefusal {
  readonly decision: RateLimitDecision;
  /** 429 for a limit, 503 where Redis did not answer and the policy denies. */
  readonly status: number;
  /** RFC 9457 problem details, or what the app puts in their place. */
  readonly body: object;
}

/** What the guard asks of one kind of context; for kinds that it does not know itself, see the option `contexts`. */
export interface RateLimitContextAdapter {
  /** Where the call comes from, as an address; undefined where nobody can tell. */
  address(context: ExecutionContext): string | undefined;
  /** Sets headers on the response; leave it out where there is none. */
  setHeaders?(context: ExecutionContext, headers: Readonly<Record<string, string>>): void;
  /** What is thrown for a refused call. */
  refusal(context: ExecutionContext, refusal: RateLimitRefusal): Error;
  /** An object that belongs to this one call and is the same in guards and interceptors. */
  call(context: ExecutionContext): object | undefined;
  /**
   * Calls back once when the response has been sent, with true for a failure; not at all where the client is gone before.
   * Leave it out where there is no response: the outcome is then that of the handler, which RateLimitInterceptor sees.
   */
  onSent?(context: ExecutionContext, sent: (failed: boolean) => void): void;
}
