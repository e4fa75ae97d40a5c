import type { ExecutionContext } from '@nestjs/common';
import type { RateLimitDecision } from '../rate-limit.types';
import type { Handler } from './route-names';

// Properties of an object of the call, because a WeakMap of all requests costs the garbage collector more than the rest of
// a check. See DECISIONS.md: guard-marks-the-context
const RESULT = Symbol('luanest:rate-limit-result');
const HANDLER = Symbol('luanest:rate-limit-result-handler');

interface Marked {
  [RESULT]?: RateLimitDecision;
  [HANDLER]?: Handler;
}

/** Stores the decision of a call for its handler. @param call object that belongs to the call */
export function keepResult(call: object, handler: Handler, decision: RateLimitDecision): void {
  if (!Object.isExtensible(call)) return;
  (call as Marked)[RESULT] = decision;
  (call as Marked)[HANDLER] = handler;
}

/**
 * Returns the decision of RateLimitGuard for a call. Use it in interceptors, pipes and filters; in handlers use
 * `@RateLimitResult()`.
 *
 * @returns undefined if no rule applied or the guard has not run
 */
export function getRateLimitResult(context: ExecutionContext): RateLimitDecision | undefined {
  const handler = context.getHandler();
  for (const argument of context.getArgs<unknown[]>()) {
    if (typeof argument !== 'object' || argument === null) continue;
    const marked = argument as Marked;
    if (marked[HANDLER] === handler) return marked[RESULT];
  }
  return undefined;
}
