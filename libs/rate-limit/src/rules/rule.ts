import type { ExecutionContext } from '@nestjs/common';

/**
 * Algorithm that counts hits. Each comment ends with the maximum number of hits that the algorithm allows in any span of
 * `windowMs`.
 */
export type RateLimitAlgorithm =
  /**
   * One counter, which starts at 0 again when `windowMs` have passed since its first hit. Any span of `windowMs` allows at most 2 x limit.
   */
  | 'fixed-window'
  /**
   * Two counters: one for the current window, one for the window before. An estimated part of the older counter is added, for the hits that
   * are less than `windowMs` old. Any span of `windowMs` allows less than 2 x limit; the README has measured values.
   */
  | 'sliding-window'
  /** Stores the time of every request that it counts. Any span of `windowMs` allows at most the limit. */
  | 'sliding-log'
  /**
   * Allows `burst` hits at once, and then one hit per `windowMs / limit` ms (GCRA). Any span of `windowMs` allows at most burst + limit.
   */
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

/** Option that both the module and a rule have. The rule's value overrides the module's. */
export interface PolicyOptions {
  /**
   * Policy for requests that Redis does not decide in time. `allow` allows the request, `deny` refuses it (over HTTP with 503),
   * and `local` counts in this process with the same limits. If the rules of a request have different policies, the strictest one
   * applies: `deny`, then `local`, then `allow`. `deny` of a shadow rule is ignored. Default for the module: `local`. Default for
   * a rule: the value of the module.
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
   * Number of hits that are allowed in `windowMs`; integer from 0 (allows no hit) to 1e9, for `sliding-log` from 0 to 10,000. A
   * function may also return Infinity: then the request has no limit.
   */
  readonly limit: PerRequest<number>;
  /** Length of the window, ms; integer from 1 to 400 days. */
  readonly windowMs: number;
  /** Algorithm that counts hits. Default `fixed-window`. */
  readonly algorithm?: RateLimitAlgorithm;
  /**
   * Number of hits that `token-bucket` allows at once; integer from 1 to 1e9. Other algorithms do not accept this option.
   * Default: the limit.
   */
  readonly burst?: number;
  /**
   * Returns the client, user or other party that is counted. If it returns undefined or '', the module's `onUnknownSubject`
   * applies. To exempt a request from the rule, use `skip` instead. Default: the client's address.
   */
  readonly subject?: (context: ExecutionContext) => string | undefined | Promise<string | undefined>;
  /**
   * Number of hits that a request counts as; integer from 0 to 1e9. A cost above `burst` (or above the limit, without `burst`) can never be
   * allowed, so a rule with such numbers is refused, unless its limit is 0. Default 1.
   */
  readonly cost?: PerRequest<number>;
  /** Returns true for requests that the rule does not apply to. Default: the rule applies to all requests. */
  readonly skip?: (context: ExecutionContext) => boolean | Promise<boolean>;
  /**
   * Results that count. A request is counted before its handler runs. If the handler's result should not count, RateLimitGuard or
   * RateLimitInterceptor refunds the hits. RateLimitService ignores this option, because it knows no results. Default `all`.
   */
  readonly count?: 'all' | 'failures' | 'successes';
  /** Length of the block that a refusal by this rule starts, ms; integer from 0 (no block) to 400 days. Default 0. */
  readonly blockMs?: number;
  /**
   * Length of the longest block, ms; integer from `blockMs` to 400 days. Each further block of a subject lasts twice as long as
   * the block before, up to `maxBlockMs`. After `maxBlockMs` without a block, the next block of a subject lasts `blockMs` again.
   * Default `blockMs`: all blocks have the same length.
   */
  readonly maxBlockMs?: number;
  /**
   * True: the rule counts and publishes events, but never refuses a request. A request that another rule refuses is not counted. Default
   * false.
   */
  readonly shadow?: boolean;
}

/** A checked rule with its defaults. A rule without `name` later gets the name of its route, or is refused. */
export interface ResolvedRule {
  readonly name: string | undefined;
  readonly limit: PerRequest<number>;
  readonly windowMs: number;
  readonly algorithm: RateLimitAlgorithm;
  /** `burst` of the rule; undefined if the limit is used instead. */
  readonly burst: number | undefined;
  /** `subject` of the rule; undefined if the address of the client is counted. */
  readonly subject: RateLimitRule['subject'];
  readonly cost: PerRequest<number>;
  readonly skip: RateLimitRule['skip'];
  readonly count: 'all' | 'failures' | 'successes';
  readonly blockMs: number;
  readonly maxBlockMs: number;
  readonly shadow: boolean;
  /** `onRedisError` of the rule; undefined if the value of the module applies. */
  readonly onRedisError: RedisErrorPolicy | undefined;
}

export interface NamedRule extends ResolvedRule {
  readonly name: string;
  /** True: a block also deletes the counter, so that a new window begins after the block. Default false. */
  readonly freshAfterBlock?: boolean;
}
