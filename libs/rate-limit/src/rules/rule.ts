import type { ExecutionContext } from '@nestjs/common';

/** Algorithm that counts hits. Each bounds the hits in any span of `windowMs`, as noted. */
export type RateLimitAlgorithm =
  /** One counter that restarts `windowMs` after its first hit: at most 2 x limit. */
  | 'fixed-window'
  /**
   * Counters of this and the previous window, the previous one weighted by its overlap: an estimate, see the README for its
   * error.
   */
  | 'sliding-window'
  /** Stores every hit: at most limit. */
  | 'sliding-log'
  /** GCRA: at most burst + limit. */
  | 'token-bucket';

/** Policy for requests that Redis does not decide in time. */
export type RedisErrorPolicy =
  /** Allows the request. */
  | 'allow'
  /** Refuses the request: 503 for HTTP. */
  | 'deny'
  /** Counts in this process, with the same limits, until Redis answers again. */
  | 'local';

/** A value, or a function that returns it for a request; the function may be async. */
export type PerRequest<T> = T | ((context: ExecutionContext) => T | Promise<T>);

/** Longer blocks for a subject that is refused repeatedly. */
export interface BlockEscalation {
  /** Each further block is `factor` times as long as the previous one; integer from 2 to 100. Default 2. */
  readonly factor?: number;
  /** Longest block, ms; integer from the rule's `blockMs` to 400 days. No default. */
  readonly maxMs: number;
  /**
   * Time after the end of a block in which the next block is a further one, ms; integer from 1 to 400 days. Default
   * `maxMs`.
   */
  readonly memoryMs?: number;
}

/** A limit: number of hits of one subject that are allowed in a time window. */
export interface RateLimitRule {
  /**
   * Name of the counters in Redis and of the policy in responses; 1 to 64 letters, digits, `.`, `_` or `-`. Rules of one
   * name share their counters. Default: the name of the route, which is then counted separately.
   */
  readonly name?: string;
  /**
   * Hits that are allowed in `windowMs`; integer from 0 (none) to 1e9, for `sliding-log` to 10,000. A function may return
   * Infinity for no limit.
   */
  readonly limit: PerRequest<number>;
  /** Length of the window, ms; integer from 1 to 400 days. */
  readonly windowMs: number;
  /** Algorithm that counts hits. Default `fixed-window`. */
  readonly algorithm?: RateLimitAlgorithm;
  /** Hits that a `token-bucket` allows at once; integer from 1 to 1e9. Default: the limit. Refused for other algorithms. */
  readonly burst?: number;
  /**
   * Returns the client, user or other party that is counted. For undefined or '' see the module's `onUnknownSubject`; to
   * leave a request out, use `skip`. Default: the client's address.
   */
  readonly subject?: (context: ExecutionContext) => string | undefined | Promise<string | undefined>;
  /** Hits of a request; integer from 0 to 1e9. Default 1. */
  readonly cost?: PerRequest<number>;
  /** Returns true for requests that the rule does not apply to. Default: it applies to all. */
  readonly skip?: (context: ExecutionContext) => boolean | Promise<boolean>;
  /** Requests that count. Hits of requests with another outcome are refunded. Default `all`. */
  readonly count?: 'all' | 'failures' | 'successes';
  /** Length of a block after a refusal, ms; integer from 0 (no block) to 400 days. Default 0. */
  readonly blockMs?: number;
  /** Makes further blocks longer. Default: all are `blockMs` long. */
  readonly blockEscalation?: BlockEscalation;
  /** Counts and reports, but never refuses. Default false. */
  readonly shadow?: boolean;
  /** Policy for requests that Redis does not decide in time. Default: the module's. */
  readonly onRedisError?: RedisErrorPolicy;
  /** Longest wait for Redis, ms; integer from 1 to 60,000. Default: the module's. */
  readonly deadlineMs?: number;
}

/** Checked rule with all defaults filled in. Undefined name: derived from the route later. */
export interface ResolvedRule {
  readonly name: string | undefined;
  readonly limit: PerRequest<number>;
  readonly windowMs: number;
  readonly algorithm: RateLimitAlgorithm;
  /** Undefined: the limit. */
  readonly burst: number | undefined;
  /** Undefined: the client's address. */
  readonly subject: RateLimitRule['subject'];
  readonly cost: PerRequest<number>;
  readonly skip: RateLimitRule['skip'];
  readonly count: 'all' | 'failures' | 'successes';
  readonly blockMs: number;
  readonly blockEscalation: Required<BlockEscalation> | undefined;
  readonly shadow: boolean;
  /** Undefined: the module's. */
  readonly onRedisError: RedisErrorPolicy | undefined;
  /** Undefined: the module's. */
  readonly deadlineMs: number | undefined;
}

/** Checked rule with a name. */
export interface NamedRule extends ResolvedRule {
  readonly name: string;
  /** True if a block also ends the window, so that a new window begins after it. Default false. */
  readonly freshAfterBlock?: boolean;
}
