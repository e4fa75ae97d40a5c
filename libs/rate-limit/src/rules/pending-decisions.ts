import type { RateLimitDecision } from '../rate-limit.types';
import type { Handler } from './route-names';

interface PendingDecision {
  readonly handler: Handler;
  readonly decision: RateLimitDecision;
}

/**
 * Decisions of the guard that the interceptor may refund when the handler has ended. The key of a decision is an object of
 * the call that both the guard and the interceptor get.
 */
export class PendingDecisions {
  private readonly decisions = new WeakMap<object, PendingDecision[]>();

  add(call: object, handler: Handler, decision: RateLimitDecision): void {
    const decisions = this.decisions.get(call) ?? [];
    decisions.push({ handler, decision });
    this.decisions.set(call, decisions);
  }

  /** Removes and returns the oldest decision of a call and a handler; undefined without one. */
  take(call: object, handler: Handler): RateLimitDecision | undefined {
    const decisions = this.decisions.get(call);
    const index = decisions?.findIndex((pending) => pending.handler === handler) ?? -1;
    return index === -1 ? undefined : decisions?.splice(index, 1)[0]?.decision;
  }
}
