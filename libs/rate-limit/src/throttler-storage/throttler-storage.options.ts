import { Checks, type KnownOptions } from '../../../internal/src';
import { ALGORITHMS } from '../limiter/algorithms';
import { resolveOptions, type RateLimitModuleOptions, type ResolvedRateLimitOptions } from '../rate-limit.options';
import type { RateLimitAlgorithm } from '../rules/rule';

/** Options of RateLimitThrottlerStorageModule; options that RateLimitModule also has mean the same here. */
export interface RateLimitThrottlerStorageModuleOptions extends Pick<
  RateLimitModuleOptions,
  'onRedisError' | 'deadlineMs' | 'breaker' | 'blockCache' | 'localSubjects' | 'tags'
> {
  /**
   * How hits of all throttlers are counted. Default `fixed-window`. Throttler's guard blocks after a refusal, by default
   * for a whole ttl, which the others soften only where `blockDuration` is 0.
   */
  readonly algorithm?: RateLimitAlgorithm;
}

/** Options with every default filled in. */
export interface ResolvedThrottlerStorageOptions {
  readonly algorithm: RateLimitAlgorithm;
  readonly limiter: ResolvedRateLimitOptions;
}

const KNOWN: KnownOptions<RateLimitThrottlerStorageModuleOptions> = {
  algorithm: true,
  onRedisError: true,
  deadlineMs: true,
  breaker: true,
  blockCache: true,
  localSubjects: true,
  tags: true,
};

/**
 * Checks the options and fills in the defaults.
 *
 * @throws InvalidOptionError naming the option, the value seen and what to do
 */
export function resolveStorageOptions(options: RateLimitThrottlerStorageModuleOptions): ResolvedThrottlerStorageOptions {
  const checks = new Checks('RateLimitThrottlerStorageModule');
  checks.options('', options, KNOWN);
  const { algorithm = 'fixed-window', onRedisError, deadlineMs, breaker, blockCache, localSubjects, tags } = options;
  return Object.freeze({
    algorithm: checks.choice('algorithm', algorithm, Object.keys(ALGORITHMS) as RateLimitAlgorithm[]),
    limiter: resolveOptions({ onRedisError, deadlineMs, breaker, blockCache, localSubjects, tags }, checks),
  });
}
