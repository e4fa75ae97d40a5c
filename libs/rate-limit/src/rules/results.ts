import type { ExecutionContext } from '@nestjs/common';
import type { RateLimitDecision } from '../rate-limit.types';
import type { Handler } from './route-names';

// Decisions are stored as a property of the request or payload. A WeakMap of all requests would slow down garbage collection.
// See DECISIONS.md: guard-marks-the-context
const RESULT = Symbol('luanest:rate-limit-result');
const HANDLER = Symbol('luanest:rate-limit-result-handler');

interface Marked {
  [RESULT]?: RateLimitDecision;
  [HANDLER]?: Handler;
}

/**
 * Stores the decision about a call for `getRateLimitResult` in the same handler.
 *
 * @param call object that belongs to the call; nothing is stored if it is frozen
 */
export function keepResult(call: object, handler: Handler, decision: RateLimitDecision): void {
  if (!Object.isExtensible(call)) return;
  (call as Marked)[RESULT] = decision;
  (call as Marked)[HANDLER] = handler;
}

/**
 * Returns the decision of RateLimitGuard for a call. Use it in interceptors and later guards; in handlers use `@RateLimitResult()`. An
 * exception filter cannot use this function, because Nest does not give the handler to filters.
 *
 * @returns undefined if no rule applied, if the guard has not run or has refused the call, or if the method `call` of the app's own adapter
 *   (option `contexts`) returned undefined. After a refusal over HTTP or GraphQL, RateLimitException has the decision
 */
export function getRateLimitResult(context: ExecutionContext): RateLimitDecision | undefined {
  const handler = context.getHandler();
  const args = context.getArgs<unknown[]>();
  // The client object may have the decision of an earlier message. A payload that is an object has the decision of this message.
  const skipClient = context.getType() === 'ws' && typeof args[1] === 'object' && args[1] !== null;
  for (const argument of skipClient ? args.slice(1) : args) {
    if (typeof argument !== 'object' || argument === null) continue;
    const marked = argument as Marked;
    if (marked[HANDLER] === handler) return marked[RESULT];
  }
  return undefined;
}

interface PendingDecision {
  readonly handler: Handler;
  readonly decision: RateLimitDecision;
}

/** Stores decisions that may be refunded when the handler has ended. The key is an object that both the guard and the interceptor get. */
export class PendingDecisions {
  private readonly decisions = new WeakMap<object, PendingDecision[]>();

  add(call: object, handler: Handler, decision: RateLimitDecision): void {
    const decisions = this.decisions.get(call) ?? [];
    decisions.push({ handler, decision });
    this.decisions.set(call, decisions);
  }

  /** Removes and returns the oldest decision for a call of a handler; undefined if there is none. */
  take(call: object, handler: Handler): RateLimitDecision | undefined {
    const decisions = this.decisions.get(call);
    const index = decisions?.findIndex((pending) => pending.handler === handler) ?? -1;
    return index === -1 ? undefined : decisions?.splice(index, 1)[0]?.decision;
  }
}
