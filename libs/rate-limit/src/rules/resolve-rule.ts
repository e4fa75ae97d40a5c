import { Checks, shown, type KnownOptions } from '../../../internal/src';
import type {
  NamedRule,
  PolicyOptions,
  RateLimitAlgorithm,
  RateLimitRule,
  RedisErrorPolicy,
  ResolvedRule,
} from './rule';

const DAY_MS = 86_400_000;
/** Maximum of `windowMs`, `blockMs` and `maxBlockMs`, ms. */
export const MAX_DURATION_MS = 400 * DAY_MS;
/** Maximum of `limit`, `burst` and `cost`, hits. */
export const MAX_HITS = 1_000_000_000;
/** Maximum of `limit` with `sliding-log`, which stores the time of every hit. */
const MAX_LOGGED_HITS = 10_000;

export const ALGORITHMS: readonly RateLimitAlgorithm[] = [
  'fixed-window',
  'sliding-window',
  'sliding-log',
  'token-bucket',
];
export const ON_REDIS_ERROR: readonly RedisErrorPolicy[] = ['allow', 'deny', 'local'];
const NAME = /^[A-Za-z0-9._-]{1,64}$/;
export const KNOWN_POLICY: KnownOptions<PolicyOptions> = { onRedisError: true };
const KNOWN: KnownOptions<RateLimitRule> = {
  name: true,
  limit: true,
  windowMs: true,
  algorithm: true,
  burst: true,
  subject: true,
  cost: true,
  skip: true,
  count: true,
  blockMs: true,
  maxBlockMs: true,
  shadow: true,
  ...KNOWN_POLICY,
};

export function mostHits(algorithm: string): number {
  return algorithm === 'sliding-log' ? MAX_LOGGED_HITS : MAX_HITS;
}

/**
 * Checks a rule and fills in its defaults.
 *
 * @param checks creates the errors, which name the place of the rule, such as `@RateLimit on CatsController.find`
 * @throws InvalidOptionError that names the option, its value and the allowed values
 */
export function resolveRule(rule: RateLimitRule, checks = new Checks('RateLimitService')): ResolvedRule {
  checks.options('', rule, KNOWN);
  const { name, limit, windowMs, algorithm = 'fixed-window', burst, subject, cost = 1, skip } = rule;
  const { count = 'all', blockMs = 0, maxBlockMs = blockMs, shadow = false, onRedisError } = rule;
  if (name !== undefined) checks.text('name', name, NAME, '1 to 64 letters, digits, ".", "_" or "-"');
  checks.choice('algorithm', algorithm, ALGORITHMS);
  if (typeof limit !== 'function') checks.integer('limit', limit, 0, mostHits(algorithm));
  if (typeof cost !== 'function') checks.integer('cost', cost, 0, MAX_HITS);
  checks.integer('windowMs', windowMs, 1, MAX_DURATION_MS);
  if (burst !== undefined && algorithm !== 'token-bucket') {
    throw checks.error(
      `burst is ${shown(burst)}, but the algorithm is ${algorithm}. Only token-bucket has a burst. Leave burst out, or change the algorithm.`,
    );
  }
  if (burst !== undefined) checks.integer('burst', burst, 1, MAX_HITS);
  const most = burst ?? limit;
  // A rule that can never allow a request is a mistake, unless its limit is 0, which the app then wants.
  if (typeof most === 'number' && typeof cost === 'number' && limit !== 0 && cost > most) {
    checks.refuse('cost', cost, `an integer from 0 to ${most}, the most that the rule allows at once`);
  }
  checks.optionalFn('subject', subject, 'from the ExecutionContext to the id that is counted');
  checks.optionalFn('skip', skip, 'from the ExecutionContext to true or false');
  checks.choice('count', count, ['all', 'failures', 'successes']);
  checks.integer('blockMs', blockMs, 0, MAX_DURATION_MS);
  if (blockMs === 0 && maxBlockMs !== 0) {
    throw checks.error('blockMs is 0, so maxBlockMs has no effect. Set blockMs to at least 1, or remove maxBlockMs.');
  }
  checks.integer('maxBlockMs', maxBlockMs, blockMs, MAX_DURATION_MS);
  checks.flag('shadow', shadow);
  if (onRedisError !== undefined) checks.choice('onRedisError', onRedisError, ON_REDIS_ERROR);
  return Object.freeze({
    ...{ name, limit, windowMs, algorithm, burst, subject, cost, skip, count },
    ...{ blockMs, maxBlockMs, shadow, onRedisError },
  });
}

export function named(rule: ResolvedRule, name: string): NamedRule {
  return Object.freeze({ ...rule, name });
}
