import type { RateLimitAlgorithm, RateLimitRule } from './rules/rule';

/** One rule and one subject to be counted under it. */
export interface RateLimitCheck {
  /** A rule with a name, or the name of one of the module's rules. */
  readonly rule: RateLimitRule | string;
  /** Who is counted; text of at least 1 character. */
  readonly subject: string;
  /** Hits of this request; integer of 0 to 1e9. Default: the rule's, which must be a number then. */
  readonly cost?: number;
  /** Hits that pass in a window. Default: the rule's, which must be a number then. */
  readonly limit?: number;
}

/** What one rule says of a request. */
export interface RateLimitRuleDecision extends RateLimitPolicy {
  readonly algorithm: RateLimitAlgorithm;
  /** Whether this rule lets the request pass; a shadow rule may say no to one that passes. */
  readonly allowed: boolean;
  /** Whether the subject is blocked, whatever it has used. */
  readonly blocked: boolean;
  readonly shadow: boolean;
  /** Hits of this request. */
  readonly cost: number;
  /** Hits that count, this request's own if it was charged. */
  readonly used: number;
  /** Hits that would still pass now. */
  readonly remaining: number;
  /** Until no hit counts any more, ms. */
  readonly resetMs: number;
  /** Until `remaining` is higher than now, ms; 0 if no hit counts. If this rule refuses: `retryAfterMs`. */
  readonly nextMs: number;
  /** Until this request's cost may pass under this rule, ms; 0 if it passes, Infinity if it costs more than `capacity`. */
  readonly retryAfterMs: number;
}

/** A rule as answers name it, whether or not anything is known of its counters. */
export interface RateLimitPolicy {
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  /** Hits that pass at once: the burst of a token bucket, else the limit. */
  readonly capacity: number;
}

/** What was decided of a request. */
export interface RateLimitDecision {
  readonly allowed: boolean;
  /**
   * Who decided: Redis; a refusal of Redis that this process remembers; this process, or the rule's policy, while Redis
   * does not answer; `none` where no rule was asked.
   */
  readonly source: 'redis' | 'cache' | 'local' | 'policy' | 'none';
  /** Why it was refused; undefined if it passes. `cost-over-limit`: it costs more than a rule ever takes, so it never passes. */
  readonly reason: 'over-limit' | 'cost-over-limit' | 'blocked' | 'redis-error' | undefined;
  /** Until the request may pass, the longest of its rules, ms; 0 if it passes or nobody knows, Infinity if it never does. */
  readonly retryAfterMs: number;
  /** One per rule that said something, in their order. */
  readonly rules: readonly RateLimitRuleDecision[];
  /** One per rule that was asked and is enforced, in their order, also where only one of them said something. */
  readonly policies: readonly RateLimitPolicy[];
}
