import type { RateLimitAlgorithm, RateLimitRule } from './rules/rule';

/** One of the rules of a call, and the subject (the client or user) to count under the rule. */
export interface RateLimitCheck {
  /** A rule with a name, or the name of one of the module's rules. */
  readonly rule: RateLimitRule | string;
  /** Client, user or other party that is counted; text of at least 1 character. */
  readonly subject: string;
  /** Hits of this request; integer from 0 to 1e9. Default: the rule's `cost`. Required if the rule's `cost` is a function. */
  readonly cost?: number;
  /**
   * Hits that are allowed in a window; integer from 0 to 1e9, for `sliding-log` to 10,000. Default: the rule's `limit`.
   * Required if the rule's `limit` is a function.
   */
  readonly limit?: number;
}

/** Decision of one rule. */
export interface RateLimitRuleDecision extends RateLimitPolicy {
  readonly algorithm: RateLimitAlgorithm;
  /** True if this rule allows the request. A shadow rule does not refuse the request, even if this is false. */
  readonly allowed: boolean;
  /** True if the subject is blocked now. Its hits do not matter then. */
  readonly blocked: boolean;
  /** True if the rule only counts and never refuses. */
  readonly shadow: boolean;
  /** Hits of this request. */
  readonly cost: number;
  /**
   * Hits that count now, including the hits of this request if they were charged. For the source `cache`: at the cached
   * refusal.
   */
  readonly used: number;
  /** Hits that are still allowed now; 0 while the subject is blocked. For the source `cache`: at the cached refusal. */
  readonly remaining: number;
  /** Time until no hit counts any more and no block is in force, ms. */
  readonly resetMs: number;
  /** Time until `remaining` rises, ms; 0 if no hit counts now. If this rule refuses, the same as `retryAfterMs`. */
  readonly nextMs: number;
  /** Time until this rule may allow the request, ms; 0 if it allows the request now, Infinity if `cost` exceeds `capacity`. */
  readonly retryAfterMs: number;
}

/** Parameters of a rule, from which the response header `RateLimit-Policy` is made. */
export interface RateLimitPolicy {
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  /** Maximum number of hits that are allowed at once: the burst of a token bucket, or the limit of another algorithm; 0 if the limit is 0. */
  readonly capacity: number;
}

/** Decision of all rules of a request. */
export interface RateLimitDecision {
  readonly allowed: boolean;
  /**
   * Origin of the decision. `redis`: Redis decided. `cache`: this process repeated a refusal of Redis that it has cached.
   * `local`: Redis failed or the breaker was open, and this process decided by its own counters. `policy`: Redis failed or the
   * breaker was open, and `onRedisError` allowed or denied the request. `none`: no rule applied to the request.
   */
  readonly source: 'redis' | 'cache' | 'local' | 'policy' | 'none';
  /**
   * Reason of a refusal; undefined if the request is allowed. `over-limit`: a rule has fewer hits left than the request costs.
   * `blocked`: a block is in force. `cost-over-limit`: the cost exceeds a rule's capacity, so waiting does not help. `redis-error`:
   * Redis failed or the breaker was open, and `onRedisError` is `deny`.
   */
  readonly reason: 'over-limit' | 'cost-over-limit' | 'blocked' | 'redis-error' | undefined;
  /**
   * Time until the evaluated rules may allow the request, ms; Infinity if waiting does not help. 0 if `allowed` or
   * `redis-error`.
   */
  readonly retryAfterMs: number;
  /**
   * One decision per rule that was evaluated, in the order of the rules. For the source `cache` only the rule that refuses is
   * evaluated, for `local` only the rules whose `onRedisError` is `local`, and for `policy` and `none` no rule.
   */
  readonly rules: readonly RateLimitRuleDecision[];
  /**
   * Parameters of the rules in `rules` that are not shadow rules. For the source `cache`, also of the request's rules that were
   * not evaluated.
   */
  readonly policies: readonly RateLimitPolicy[];
}
