import { Checks, type KnownOptions } from '../../../internal/src';
import {
  KNOWN_REDIS_CALL,
  resolveOptions,
  type RedisCallOptions,
  type ResolvedRateLimitOptions,
} from '../rate-limit.options';
import { ALGORITHMS } from '../rules/resolve-rule';
import type { RateLimitAlgorithm } from '../rules/rule';

/** Options of RateLimitThrottlerStorageModule. All except `algorithm` mean the same as in RateLimitModule. */
export interface RateLimitThrottlerStorageModuleOptions extends RedisCallOptions {
  /**
   * Algorithm of all throttlers. Default `fixed-window`. With another algorithm, set `blockDuration: 0` in the throttlers. By
   * default, ThrottlerGuard of @nestjs/throttler blocks for a whole ttl after a refusal, even if the algorithm would allow hits
   * earlier.
   */
  readonly algorithm?: RateLimitAlgorithm;
}

export interface ResolvedThrottlerStorageOptions {
  readonly algorithm: RateLimitAlgorithm;
  readonly limiter: ResolvedRateLimitOptions;
}

const KNOWN: KnownOptions<RateLimitThrottlerStorageModuleOptions> = {
  algorithm: true,
  ...KNOWN_REDIS_CALL,
};

/**
 * Checks the options and fills in the defaults.
 *
 * @throws InvalidOptionError that names the option, its value and the allowed values
 */
export function resolveStorageOptions(
  options: RateLimitThrottlerStorageModuleOptions,
): ResolvedThrottlerStorageOptions {
  const checks = new Checks('RateLimitThrottlerStorageModule');
  checks.options('', options, KNOWN);
  const { algorithm = 'fixed-window', onRedisError, deadlineMs } = options;
  return Object.freeze({
    algorithm: checks.choice('algorithm', algorithm, ALGORITHMS),
    limiter: resolveOptions({ onRedisError, deadlineMs }, checks),
  });
}
