import type { ExecutionContext } from '@nestjs/common';
import { RateLimitException } from '../rate-limit.exception';
import type { RateLimitDecision } from '../rate-limit.types';

/** Facts about a refused request, from which an adapter makes the error for the client. */
export interface RateLimitRefusal {
  /** Decision that refused the request. */
  readonly decision: RateLimitDecision;
  /** HTTP status: 429 if a rule refused, 503 if Redis failed and `onRedisError` is `deny`. */
  readonly status: number;
  /** Body of the response, from the option `responses.problem`. */
  readonly body: object;
}

/**
 * Connects RateLimitGuard to one kind of execution context, such as `http`. An app can provide adapters for other kinds in the option
 * `contexts`.
 */
export interface RateLimitContextAdapter {
  /** Returns the client's address; undefined if the address is unknown. */
  address(context: ExecutionContext): string | undefined;
  /** Sets headers of the response. Leave this method out if the kind of context has no response with headers. */
  setHeaders?(context: ExecutionContext, headers: Readonly<Record<string, string>>): void;
  /** Creates the error that the guard throws for a refused call. */
  refusal(context: ExecutionContext, refusal: RateLimitRefusal): Error;
  /**
   * Returns an object that belongs to this call alone, and that guards and interceptors both get, such as the request. The guard's decision
   * is stored on it. Without such an object, returns undefined; then `@RateLimitResult()` is undefined, and RateLimitInterceptor refunds
   * nothing.
   */
  call(context: ExecutionContext): object | undefined;
  /**
   * Calls `sent` when the response has been sent, with `failed` true if the request failed. Does not call `sent` if the client closes
   * the connection first. Leave this method out if there is no response; RateLimitInterceptor then reports if the call failed.
   */
  onSent?(context: ExecutionContext, sent: (failed: boolean) => void): void;
}

/** Kinds of execution context that no client causes: stream messages, delayed tasks and cron jobs. */
export const WORK_KINDS: ReadonlySet<string> = new Set(['stream', 'delayed-task', 'cron']);

/** Adapter for all kinds of execution context without an adapter of their own. Such contexts show no client address. */
export const otherAdapter: RateLimitContextAdapter = {
  address: () => undefined,
  refusal: (_context, { decision, status, body }) => new RateLimitException(decision, status, body),
  call: () => undefined,
};
