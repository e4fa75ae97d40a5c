import type { ExecutionContext } from '@nestjs/common';

/** How hits are counted; each has its bound over any span of `windowMs`, given below for `limit` hits. */
export type RateLimitAlgorithm =
  /** A count that ends `windowMs` after its first hit: at most 2 x limit. */
  | 'fixed-window'
  /** Two counters, the older one weighted by how far it still reaches in: an estimate, see the README for its error. */
  | 'sliding-window'
  /** Every hit is kept: at most limit. */
  | 'sliding-log'
  /** GCRA: at most burst + limit. */
  | 'token-bucket';

/** What is done with a request that Redis could not decide in time. */
export type RedisErrorPolicy =
  /** It passes. */
  | 'allow'
  /** It is refused, as unavailable rather than as over a limit. */
  | 'deny'
  /** This process counts by itself, with the same limits, until Redis answers again. */
  | 'local';

/** A value, or a function that tells it for a request; the function may be async. */
export type PerRequest<T> = T | ((context: ExecutionContext) => T | Promise<T>);

/** How long a subject is blocked that goes on being refused. */
export interface BlockEscalation {
  /** Each further block is so many times as long as the one before; integer of 2 to 100. Default 2. */
  readonly factor?: number;
  /** Longest block, ms; integer, at least the rule's `blockMs`. No default. */
  readonly maxMs: number;
  /** How long after a block ends the next one still counts as a further one, ms; integer of 1 to 400 days. Default `maxMs`. */
  readonly memoryMs?: number;
}

/** A limit: how many hits of one subject pass in a span of time. */
export interface RateLimitRule {
  /**
   * Names the counters in Redis and the policy in answers; letters, digits, `.`, `_` and `-`, at most 64. Rules of one
   * name count together wherever they are used. Default: from the route, which then counts by itself.
   */
  readonly name?: string;
  /** Hits that pass in `windowMs`; integer of 0 (none) to 1e9, for `sliding-log` to 10,000. A function may answer Infinity: no limit. */
  readonly limit: PerRequest<number>;
  /** Length of the window, ms; integer of 1 to 400 days. */
  readonly windowMs: number;
  /** Default `fixed-window`. */
  readonly algorithm?: RateLimitAlgorithm;
  /** Hits that a `token-bucket` takes at once; integer of 1 to 1e9. Default: the limit. Refused for other algorithms. */
  readonly burst?: number;
  /**
   * Who is counted. For undefined see the module's `onUnknownSubject`; to leave a request out, use `skip`. Default: the
   * client's address.
   */
  readonly subject?: (context: ExecutionContext) => string | undefined | Promise<string | undefined>;
  /** Hits that a request counts; integer of 0 to 1e9. Default 1. */
  readonly cost?: PerRequest<number>;
  /** Whether a request is left out. Default: none is. */
  readonly skip?: (context: ExecutionContext) => boolean | Promise<boolean>;
  /** Which requests count: those of another outcome get their hits back. Default `all`. */
  readonly count?: 'all' | 'failures' | 'successes';
  /** How long a subject is blocked after a refusal, ms; integer of 0 (not at all) to 400 days. Default 0. */
  readonly blockMs?: number;
  /** Makes further blocks longer. Default: all are `blockMs` long. */
  readonly blockEscalation?: BlockEscalation;
  /** Counts and reports, and never refuses. Default false. */
  readonly shadow?: boolean;
  /** Default: the module's. */
  readonly onRedisError?: RedisErrorPolicy;
  /** Longest wait for Redis, ms; integer of 1 to 60,000. Default: the module's. */
  readonly deadlineMs?: number;
}

/** A rule with every default filled in, checked; its name may still be open. */
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

/** A rule that can be counted: it has its name. */
export interface NamedRule extends ResolvedRule {
  readonly name: string;
  /** Whether a block also ends the window, so that it is followed by a fresh one. Default false. */
  readonly freshAfterBlock?: boolean;
}
