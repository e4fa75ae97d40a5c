import type { NamedRule } from '../rules/rule';

/** One rule of one request, after the rule's functions were called, so that `limit` and `cost` are numbers. */
export interface Check {
  readonly rule: NamedRule;
  /** The client, user or other party that is counted; any text. */
  readonly subject: string;
  /** Hits that are allowed in a window, at least 0. */
  readonly limit: number;
  /** Hits of this request, at least 0. */
  readonly cost: number;
}

/** A check that RateLimitGuard made. RateLimitService passes it on without looking at its parts again. */
export class GuardCheck implements Check {
  constructor(
    readonly rule: NamedRule,
    readonly subject: string,
    readonly limit: number,
    readonly cost: number,
  ) {}
}

/** Two readings of this process's monotonic clock, ms: a decision or a reading was made between them. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Outcome of one check. */
export interface Verdict {
  /** 0 allowed, 1 over the limit, 2 blocked. */
  readonly verdict: number;
  /** Hits that count now, including the hits of this request if they were charged. */
  readonly used: number;
  /** Time until no hit counts any more and no block is in force, ms. */
  readonly resetMs: number;
  /**
   * Time until the request's cost may be allowed, ms; 0 if the request is allowed now. This number is finite even if the cost
   * exceeds the capacity; `neverPasses` returns true then.
   */
  readonly retryMs: number;
  /** Time until the number of allowed hits rises, ms; 0 if no hit counts. If this check refuses, the same as `retryMs`. */
  readonly nextMs: number;
  /** Time of the decision by the clock of the limiter (Redis or this process), us since 1970. A Span if no clock was read. */
  readonly at: number | Span;
}

/** Outcome of all checks of one request. */
export interface Verdicts {
  /** True if no rule refuses, other than shadow rules. */
  readonly allowed: boolean;
  /** In the order of the checks. */
  readonly rules: readonly Verdict[];
}

/** Hits of one check that were charged and may be refunded. */
export interface ChargedHits {
  readonly check: Check;
  /** Verdict that charged the hits. */
  readonly verdict: Verdict;
}

/** Time limit of one decision, for all of its calls to Redis together. */
export interface Budget {
  /** Time at which the decision began, by the monotonic clock of the limiter, ms. */
  readonly calledAtMs: number;
  /** The same time by `performance.now()`, for the registry's deadline. */
  readonly startedAtMs: number;
  /** Longest duration from `startedAtMs`, ms. */
  readonly deadlineMs: number;
}

/** Counts hits, in Redis or in this process. */
export interface Limiter {
  /** ScriptRegistry of the app; undefined for counters of this process. */
  readonly registry?: object;
  /**
   * Decides all checks. Charges those that allow the request. If one refuses and its rule is not a shadow rule, charges none, or
   * tries to refund what it has charged. If `charge` is false, only decides.
   */
  consume(checks: readonly Check[], charge: boolean, budget: Budget): Promise<Verdicts>;
  /** Refunds hits, as far as they still count. Returns the refunded hits, in the order of `charged`. */
  refund(charged: readonly ChargedHits[], deadlineMs: number): Promise<number[]>;
  /** Deletes the counter of a subject, its block and the memory of earlier blocks. Returns true if one of them existed. */
  reset(rule: NamedRule, subject: string, deadlineMs: number): Promise<boolean>;
  /** Blocks a subject for `blockMs` from now, and deletes its counter. */
  block(rule: NamedRule, subject: string, blockMs: number, deadlineMs: number): Promise<void>;
}

/**
 * Returns the most hits that a rule allows at once: the burst of a token bucket, else the limit. With a limit of 0, returns 0.
 */
export function capacityOf({ rule, limit }: Pick<Check, 'rule' | 'limit'>): number {
  return limit === 0 ? 0 : (rule.burst ?? limit);
}

/** Returns true if the cost exceeds the rule's capacity, so that the rule never allows the request. */
export function neverPasses(check: Check): boolean {
  return check.cost > capacityOf(check);
}

/** Returns how long a rule remembers a block after its end, so that the next one is longer, ms; 0 if its blocks do not grow. */
export function blockMemoryMs({ blockMs, maxBlockMs }: NamedRule): number {
  return maxBlockMs > blockMs ? maxBlockMs : 0;
}

/** Returns true if the rule may refuse a request. A shadow rule only counts. */
export function enforced(check: Check): boolean {
  return !check.rule.shadow;
}
