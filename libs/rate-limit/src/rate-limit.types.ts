import type { RateLimitAlgorithm, RateLimitRule } from './rules/rule';

/** A rule and the subject to count under it. */
export interface RateLimitCheck {
  /** A rule with a name, or the name of one of the module's rules. */
  readonly rule: RateLimitRule | string;
  /** Client, user or other party that is counted; text of at least 1 character. */
  readonly subject: string;
  /** Hits of this request; integer from 0 to 1e9. Default: the rule's, which must then be a number. */
  readonly cost?: number;
  /**
   * Hits that are allowed in a window; integer from 0 to 1e9, for `sliding-log` to 10,000. Default: the rule's, which must
   * then be a number.
   */
  readonly limit?: number;
}

/** Decision of one rule. */
export interface RateLimitRuleDecision extends RateLimitPolicy {
  readonly algorithm: RateLimitAlgorithm;
  /** True if this rule allows the request. A shadow rule may be false for a request that is allowed. */
  readonly allowed: boolean;
  /** True if the subject is blocked, regardless of its hits. */
  readonly blocked: boolean;
  /** True if the rule only counts and never refuses. */
  readonly shadow: boolean;
  /** Hits of this request. */
  readonly cost: number;
  /** Hits that count, with those of this request if they were charged. */
  readonly used: number;
  /** Hits that are still allowed now. */
  readonly remaining: number;
  /** Time until no hit counts any longer, ms. */
  readonly resetMs: number;
  /** Time until `remaining` is higher than now, ms; 0 if no hit counts. If this rule refuses, equal to `retryAfterMs`. */
  readonly nextMs: number;
  /** Time until this rule may allow the request's cost, ms; 0 if it allows it now, Infinity if the cost exceeds `capacity`. */
  readonly retryAfterMs: number;
}

/** Parameters of a rule, as in the header `RateLimit-Policy`; available even if its counters were not read. */
export interface RateLimitPolicy {
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  /** Most hits that are allowed at once: the burst of a token bucket, else the limit. */
  readonly capacity: number;
}

/** Decision of all rules of a request. */
export interface RateLimitDecision {
  readonly allowed: boolean;
  /**
   * Origin of the decision. `redis`: Redis decided. `cache`: a refusal of Redis that this process has cached. `local` and
   * `policy`: Redis failed, and this process counted, or the policy allowed or denied. `none`: there was no rule.
   */
  readonly source: 'redis' | 'cache' | 'local' | 'policy' | 'none';
  /**
   * Reason of a refusal; undefined if allowed. `cost-over-limit`: the cost exceeds a rule's capacity, so waiting does not
   * help.
   */
  readonly reason: 'over-limit' | 'cost-over-limit' | 'blocked' | 'redis-error' | undefined;
  /** Time until all rules may allow the request, ms; 0 if it is allowed or Redis failed, Infinity if waiting does not help. */
  readonly retryAfterMs: number;
  /** One per rule that was evaluated, in their order. A cached refusal evaluates only the rule that refuses. */
  readonly rules: readonly RateLimitRuleDecision[];
  /** One per rule of the request that is not a shadow rule, in their order, also if only one was evaluated. */
  readonly policies: readonly RateLimitPolicy[];
}
