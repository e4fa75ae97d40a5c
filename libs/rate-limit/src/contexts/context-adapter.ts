import type { ExecutionContext } from '@nestjs/common';
import { RateLimitException } from '../rate-limit.exception';
import type { RateLimitDecision } from '../rate-limit.types';

/** Data about a refused request. An adapter makes the error of the refusal from it. */
export interface RateLimitRefusal {
  /** Decision that refused the request. */
  readonly decision: RateLimitDecision;
  /** HTTP status: 429 if a rule refuses, 503 if the policy `deny` refuses because Redis failed. */
  readonly status: number;
  /** Body of the response, made by the option `responses.problem`. */
  readonly body: object;
}

/** Connects RateLimitGuard to one kind of context, such as `http`. An app gives its own adapters in the option `contexts`. */
export interface RateLimitContextAdapter {
  /** Returns the client's address; undefined if the address is unknown. */
  address(context: ExecutionContext): string | undefined;
  /** Sets headers of the response. Leave this method out if the kind of context has no response with headers. */
  setHeaders?(context: ExecutionContext, headers: Readonly<Record<string, string>>): void;
  /** Returns the error that is thrown for a refused call. */
  refusal(context: ExecutionContext, refusal: RateLimitRefusal): Error;
  /**
   * Returns an argument of the context: an object that belongs to this call alone and that guards and interceptors both get.
   * Undefined if the context has no such object: then `@RateLimitResult()` is undefined, and RateLimitInterceptor refunds nothing.
   */
  call(context: ExecutionContext): object | undefined;
  /**
   * Makes sure that `sent` is called when the response has been sent. Its argument `failed` must be true if the request failed.
   * If the client closes the connection before, `sent` is not called. Leave this method out if there is no response:
   * RateLimitInterceptor then reports the outcome.
   */
  onSent?(context: ExecutionContext, sent: (failed: boolean) => void): void;
}

/** Kinds of context that have no client: stream messages, delayed tasks and cron jobs. */
export const WORK_KINDS: ReadonlySet<string> = new Set(['stream', 'delayed-task', 'cron']);

/** Adapter of all kinds of context that have no adapter of their own. The client's address is unknown there. */
export const otherAdapter: RateLimitContextAdapter = {
  address: () => undefined,
  refusal: (_context, { decision, status, body }) => new RateLimitException(decision, status, body),
  call: () => undefined,
};
