import type { RateLimitAlgorithm, RateLimitRule } from './rules/rule';

/** A rule for a request, and the subject (client or user) whose hits the rule counts. */
export interface RateLimitCheck {
  /** A rule with a name, or the name of one of the module's rules. */
  readonly rule: RateLimitRule | string;
  /** Client, user or other party that is counted; text of at least 1 character. */
  readonly subject: string;
  /**
   * Number of hits that this request counts as; integer from 0 to 1e9. Default: the rule's `cost`. Required if the rule's `cost`
   * is a function.
   */
  readonly cost?: number;
  /**
   * Number of hits that are allowed in a window; integer from 0 to 1e9, for `sliding-log` from 0 to 10,000. Default: the rule's
   * `limit`. Required if the rule's `limit` is a function.
   */
  readonly limit?: number;
}

/** Decision of one rule about a request. */
export interface RateLimitRuleDecision extends RateLimitPolicy {
  readonly algorithm: RateLimitAlgorithm;
  /** True if this rule allows the request. A shadow rule does not refuse the request, even if this is false. */
  readonly allowed: boolean;
  /** True if the subject is blocked now, so that the rule allows none of its requests, whatever `used` is. */
  readonly blocked: boolean;
  /** True if the rule only counts and never refuses. */
  readonly shadow: boolean;
  /** Number of hits that this request counts as. */
  readonly cost: number;
  /**
   * Number of hits that count now, including those of this request if it was counted. For a cached refusal (source `cache`), the number at
   * the time of that refusal.
   */
  readonly used: number;
  /**
   * Number of hits that are still allowed now; 0 while the subject is blocked. For a cached refusal (source `cache`), the number at the
   * time of that refusal.
   */
  readonly remaining: number;
  /** Time until all hits have expired and no block is in force, ms. */
  readonly resetMs: number;
  /** Time until `remaining` rises, ms; 0 if no hit counts now. If this rule refuses, the same as `retryAfterMs`. */
  readonly nextMs: number;
  /**
   * Time until this rule may allow the same request, ms; 0 if the rule allows the request now. Infinity if `cost` exceeds
   * `capacity`, because waiting does not help.
   */
  readonly retryAfterMs: number;
}

/** Settings of a rule that the header `RateLimit-Policy` shows. */
export interface RateLimitPolicy {
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  /**
   * Maximum number of hits that are allowed at once: `burst` for `token-bucket`, the limit for other algorithms; 0 if the limit
   * is 0.
   */
  readonly capacity: number;
}

/** Decision about a request, made from the decisions of all its rules. */
export interface RateLimitDecision {
  readonly allowed: boolean;
  /**
   * Origin of the decision. `redis`: Redis decided. `cache`: this process repeated a refusal of Redis that it has cached. `local` and
   * `policy`: Redis failed, or the circuit breaker was open; then this process decided by its own counters (`local`), or `onRedisError`
   * allowed or denied the request (`policy`). `none`: no rule applied to the request.
   */
  readonly source: 'redis' | 'cache' | 'local' | 'policy' | 'none';
  /**
   * Reason of a refusal; undefined if the request is allowed. `over-limit`: a rule has fewer hits left than the request costs.
   * `blocked`: a block is in force. `cost-over-limit`: the cost exceeds a rule's capacity, so waiting does not help.
   * `redis-error`: Redis failed or the circuit breaker was open, and `onRedisError` is `deny`.
   */
  readonly reason: 'over-limit' | 'cost-over-limit' | 'blocked' | 'redis-error' | undefined;
  /**
   * Time until the rules in `rules` may allow the request, ms; Infinity if waiting does not help. 0 if the request is allowed, or
   * if `reason` is `redis-error`.
   */
  readonly retryAfterMs: number;
  /**
   * One decision per evaluated rule, in the order of the rules. The source decides which rules are evaluated. `redis`: all rules.
   * `cache`: only the rule that refuses. `local`: only the rules whose `onRedisError` is `local`. `policy` and `none`: no rule.
   */
  readonly rules: readonly RateLimitRuleDecision[];
  /** Settings of the rules in `rules`, without shadow rules. With the source `cache`, also those of the request's other rules. */
  readonly policies: readonly RateLimitPolicy[];
}
