import type { RateLimitDecision } from '../rate-limit.types';
import type { Handler } from './route-names';

/** A decision that the guard made, for the interceptor of the same call. */
interface CallRecord {
  readonly handler: Handler;
  readonly decision: RateLimitDecision;
}

/** What the guard hands over to the interceptor, by an object of the call that both see. */
export class PendingDecisions {
  private readonly records = new WeakMap<object, CallRecord[]>();

  put(call: object, handler: Handler, decision: RateLimitDecision): void {
    const records = this.records.get(call) ?? [];
    records.push({ handler, decision });
    this.records.set(call, records);
  }

  /** The oldest decision of a handler that is still there; taken only once. */
  take(call: object, handler: Handler): RateLimitDecision | undefined {
    const records = this.records.get(call);
    const at = records?.findIndex((record) => record.handler === handler) ?? -1;
    return at === -1 ? undefined : records?.splice(at, 1)[0]?.decision;
  }
}
