import type { NamedRule } from '../rules/rule';

/** One rule of one request. The rule's functions have been called, so limit and cost are numbers. */
export interface Check {
  readonly rule: NamedRule;
  /** The client, user or other party that is counted; any text. */
  readonly subject: string;
  /** Hits that are allowed in a window, at least 0. */
  readonly limit: number;
  /** Hits of this request, at least 0. */
  readonly cost: number;
}

/** Outcome of one check. */
export interface Verdict {
  /** 0 allowed, 1 over the limit, 2 blocked. */
  readonly verdict: number;
  /** Hits that count, with those of this request if they were charged. */
  readonly used: number;
  /** Time until no hit counts any longer, ms. */
  readonly resetMs: number;
  /**
   * Time until the request's cost may be allowed, ms; 0 if it is allowed now. Finite even if the cost exceeds the capacity:
   * see `neverPasses`.
   */
  readonly retryMs: number;
  /** Time until one hit more than now is allowed, ms; 0 if no hit counts; equal to `retryMs` if this check refuses. */
  readonly nextMs: number;
  /** Time of the decision by the limiter's clock, us since 1970. */
  readonly atUs: number;
}

/** Outcome of all checks of one request. */
export interface Verdicts {
  /** True if no enforced rule refuses. */
  readonly allowed: boolean;
  /** One per check, in their order. */
  readonly rules: readonly Verdict[];
}

/** Hits that were charged and may be refunded. */
export interface ChargedHits {
  readonly check: Check;
  /** `atUs` of the verdict that charged the hits. */
  readonly chargedUs: number;
}

/** Time limit of one decision, over all of its calls to Redis. */
export interface Budget {
  /** Start of the decision by the process's monotonic clock, ms. */
  readonly startedAtMs: number;
  /** Longest duration from `since`, ms. */
  readonly deadlineMs: number;
}

/** Counts hits, in Redis or in this process. */
export interface Limiter {
  /** Charges all checks, or none if one refuses. With `charge` false, it reads and charges nothing. */
  consume(checks: readonly Check[], charge: boolean, budget: Budget): Promise<Verdicts>;
  /** Refunds hits that still count. Returns the refunded hits, in the order of `charged`. */
  refund(charged: readonly ChargedHits[], deadlineMs: number): Promise<number[]>;
  /** Deletes the counter and the block of a subject. Returns true if there was any. */
  reset(rule: NamedRule, subject: string, deadlineMs: number): Promise<boolean>;
  /** Refuses a subject for `blockMs` and deletes its counter. */
  block(rule: NamedRule, subject: string, blockMs: number, deadlineMs: number): Promise<void>;
}

/** Returns the most hits that a rule allows at once: the burst of a token bucket, else the limit. */
export function capacityOf({ rule, limit }: Check): number {
  return limit === 0 ? 0 : (rule.burst ?? limit);
}

/** Returns true if the cost exceeds the rule's capacity, so that waiting does not help. */
export function neverPasses(check: Check): boolean {
  return check.cost > capacityOf(check);
}

/** Returns true if the rule may refuse a request; a shadow rule only counts. */
export function enforced(check: Check): boolean {
  return !check.rule.shadow;
}
