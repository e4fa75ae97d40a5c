import type { ExecutionContext } from '@nestjs/common';

/** Algorithm that counts hits. The comments say how many hits each algorithm allows in any span of `windowMs`. */
export type RateLimitAlgorithm =
  /** One counter that starts again at 0 `windowMs` after its first hit. At most 2 x limit. */
  | 'fixed-window'
  /**
   * Two counters: the hits of this window, plus the part of the previous window's hits that is estimated to be less than
   * `windowMs` ago. Less than 2 x limit; the README has measured values.
   */
  | 'sliding-window'
  /** Stores every request that it counts. At most limit. */
  | 'sliding-log'
  /** Allows `burst` hits at once, and then evenly one per `windowMs / limit` (GCRA). At most burst + limit. */
  | 'token-bucket';

/** Policy for requests that Redis does not decide in time. */
export type RedisErrorPolicy =
  /** Allows the request. */
  | 'allow'
  /** Refuses the request; over HTTP with status 503. */
  | 'deny'
  /** Counts in this process, with the same limits, until Redis replies again. */
  | 'local';

/** A value, or a function that returns it for a request; the function may be async. */
export type PerRequest<T> = T | ((context: ExecutionContext) => T | Promise<T>);

/** Option of the module, for all rules, and of one rule, for itself. */
export interface PolicyOptions {
  /**
   * Policy for requests that Redis does not decide in time. `allow` allows the request, `deny` refuses it (over HTTP with 503), and
   * `local` counts in this process with the same limits. Of the rules of a request, the strictest policy applies: `deny`, except of a
   * shadow rule, then `local`, then `allow`. Default `local`, or the module's.
   */
  readonly onRedisError?: RedisErrorPolicy;
}

/** A rule: how many hits of one subject are allowed in a time window. The subject is the client or user that is counted. */
export interface RateLimitRule extends PolicyOptions {
  /**
   * Name of the rule in Redis' keys and in responses; 1 to 64 letters, digits, `.`, `_` or `-`. Rules with the same name, algorithm
   * and `windowMs` share their counters. Default in `@RateLimit()`: a name made from the route.
   */
  readonly name?: string;
  /**
   * Hits that are allowed in `windowMs`; integer from 0 (allows no hit) to 1e9, for `sliding-log` to 10,000. A function may also
   * return Infinity, for no limit.
   */
  readonly limit: PerRequest<number>;
  /** Length of the window, ms; integer from 1 to 400 days. */
  readonly windowMs: number;
  /** Algorithm that counts hits. Default `fixed-window`. */
  readonly algorithm?: RateLimitAlgorithm;
  /** Hits that a `token-bucket` allows at once; integer from 1 to 1e9. Default: the limit. Refused for other algorithms. */
  readonly burst?: number;
  /**
   * Returns the client, user or other party that is counted. If it returns undefined or '', the module's `onUnknownSubject`
   * applies. To leave a request out, use `skip`. Default: the client's address.
   */
  readonly subject?: (context: ExecutionContext) => string | undefined | Promise<string | undefined>;
  /**
   * Number of hits that a request counts as; integer from 0 to 1e9. A cost above `burst`, or above the limit if there is no
   * burst, is never allowed; a rule with such numbers is invalid, unless its limit is 0. Default 1.
   */
  readonly cost?: PerRequest<number>;
  /** Returns true for requests that the rule does not apply to. Default: the rule applies to all requests. */
  readonly skip?: (context: ExecutionContext) => boolean | Promise<boolean>;
  /**
   * Outcomes that count. When RateLimitGuard or RateLimitInterceptor knows that a request has another outcome, its hits are
   * refunded. A call of RateLimitService has no outcome. Default `all`.
   */
  readonly count?: 'all' | 'failures' | 'successes';
  /** Length of the block that a refusal by this rule starts, ms; integer from 0 (no block) to 400 days. Default 0. */
  readonly blockMs?: number;
  /**
   * Length of the longest block, ms; integer from `blockMs` to 400 days. Each further block of a subject lasts twice as long as the
   * one before, up to this length, until the subject had no block for this time. Default `blockMs`: all blocks are as long.
   */
  readonly maxBlockMs?: number;
  /**
   * True: the rule counts and publishes events as other rules do, but does not refuse. Requests that another rule refuses are
   * not counted. Default false.
   */
  readonly shadow?: boolean;
}

/** Checked rule. Defaults are filled in, except where a field says what undefined means. If `name` is undefined, the rule gets the name of its route later, or is refused. */
export interface ResolvedRule {
  readonly name: string | undefined;
  readonly limit: PerRequest<number>;
  readonly windowMs: number;
  readonly algorithm: RateLimitAlgorithm;
  /** Undefined: the same as the limit. */
  readonly burst: number | undefined;
  /** Undefined: the client's address is counted. */
  readonly subject: RateLimitRule['subject'];
  readonly cost: PerRequest<number>;
  readonly skip: RateLimitRule['skip'];
  readonly count: 'all' | 'failures' | 'successes';
  readonly blockMs: number;
  readonly maxBlockMs: number;
  readonly shadow: boolean;
  /** Undefined: the module's `onRedisError` applies. */
  readonly onRedisError: RedisErrorPolicy | undefined;
}

export interface NamedRule extends ResolvedRule {
  readonly name: string;
  /** True if a block also deletes the counter, so that a new window begins after the block. Default false. */
  readonly freshAfterBlock?: boolean;
}
