import { isIntegerOf, shown, InvalidInputError } from '../../../internal/src';
import { ServiceUnavailableException } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import { Check } from '../limiter/decision';
import type { ResilientLimiter } from '../limiter/resilient-limiter';
import type { RateLimitDecision, RateLimitRuleDecision } from '../rate-limit.types';
import { MAX_DURATION_MS, mostHits, named, resolveRule } from '../rules/resolve-rule';
import type { NamedRule, RateLimitAlgorithm } from '../rules/rule';

type ThrottlerRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/**
 * Maximum number of cached rules. A full cache is emptied. Without a maximum, it would grow forever in an app that computes a new ttl for
 * each request.
 */
const MAX_RULES = 1_000;

const UNLIMITED: ThrottlerRecord = Object.freeze({
  totalHits: 0,
  timeToExpire: 0,
  isBlocked: false,
  timeToBlockExpire: 0,
});

/**
 * Storage for `@nestjs/throttler` that counts in Redis.
 *
 * A refused hit is not counted, and starts a block of `blockDuration` ms if `blockDuration` is above 0. Hits during a block are
 * not counted, and do not extend the block. A new window begins after the block.
 */
export class RateLimitThrottlerStorage implements ThrottlerStorage {
  /** Rules by ttl, blockDuration and name of the throttler. A route may override the first two. */
  private rules = new Map<string, NamedRule>();

  constructor(
    private readonly limiter: ResilientLimiter,
    private readonly algorithm: RateLimitAlgorithm,
  ) {}

  /**
   * Counts one hit, unless it is refused.
   *
   * @param key client that is counted; text of at least 1 character
   * @param ttl length of the window, ms; integer from 1 to 400 days
   * @param limit number of hits that are allowed in a window; integer from 0 to 1e9, for `sliding-log` from 0 to 10,000. Infinity means no
   *   limit
   * @param blockDuration length of a block after a refusal, ms; integer from 0 (no block) to 400 days
   * @param throttlerName name of the throttler; part of the keys in Redis
   * @returns the record for ThrottlerGuard, with times in seconds, rounded up. `totalHits` is the number of hits that count, or limit + 1
   *   for a refused hit. It is 0 if nothing is counted, because the limit is Infinity, or because Redis failed and `onRedisError` is
   *   `allow`
   * @throws InvalidInputError before anything is counted
   * @throws ServiceUnavailableException if Redis fails and `onRedisError` is `deny`
   */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerRecord> {
    if (typeof key !== 'string' || key === '') {
      throw new InvalidInputError(
        `The key of throttler ${shown(throttlerName)} is ${shown(key)}. Expected generateKey to return text of at least 1 character.`,
      );
    }
    const rule = this.ruleOf(throttlerName, ttl, blockDuration);
    if (limit === Infinity) return UNLIMITED;
    const hits = checked(throttlerName, 'limit', limit, 0, mostHits(this.algorithm), 'Infinity means no limit.');
    return recordOf(await this.limiter.decide([new Check(rule, key, hits, 1)], true), hits);
  }

  private ruleOf(throttler: string, ttl: number, blockDuration: number): NamedRule {
    const id = `${ttl}:${blockDuration}:${throttler}`;
    const kept = this.rules.get(id);
    if (kept !== undefined) return kept;
    if (typeof throttler !== 'string' || throttler === '') {
      throw new InvalidInputError(
        `The name of a throttler is ${shown(throttler)}. Expected text of at least 1 character.`,
      );
    }
    const windowMs = checked(throttler, 'ttl', ttl, 1, MAX_DURATION_MS, 'To turn the limit off, use @SkipThrottle().');
    const blockMs = checked(throttler, 'blockDuration', blockDuration, 0, MAX_DURATION_MS, '0 means no block.');
    const resolved = resolveRule({ limit: 0, windowMs, blockMs, algorithm: this.algorithm });
    // RateLimitModule may use the same Redis. The prefix `throttler.` keeps the counters of both apart.
    // See DECISIONS.md: throttler-storage-is-a-subpath
    const rule = Object.freeze({ ...named(resolved, `throttler.${throttler}`), freshAfterBlock: true });
    if (this.rules.size >= MAX_RULES) this.rules = new Map();
    this.rules.set(id, rule);
    return rule;
  }
}

function checked(throttler: string, option: string, value: number, min: number, max: number, hint: string): number {
  if (isIntegerOf(value, min, max)) return value;
  const unit = option === 'limit' ? 'an integer' : 'ms, an integer';
  throw new InvalidInputError(
    `The ${option} of throttler ${shown(throttler)} is ${shown(value)}. Expected ${unit} from ${min} to ${max}. ${hint}`,
  );
}

function recordOf({ allowed, reason, rules: [rule] }: RateLimitDecision, limit: number): ThrottlerRecord {
  if (reason === 'redis-error') {
    throw new ServiceUnavailableException(
      'The rate limit cannot be checked at the moment. Send the request again later.',
    );
  }
  if (allowed) return { ...UNLIMITED, totalHits: rule?.used ?? 0, timeToExpire: seconds(rule?.resetMs ?? 0) };
  const { blocked, resetMs, windowMs, retryAfterMs } = rule as RateLimitRuleDecision;
  // With a limit of 0, retryAfterMs is Infinity, but ThrottlerGuard needs a finite time. So it gets the rest of the block, or the ttl
  // without a block.
  const retryMs = blocked ? resetMs : limit === 0 ? windowMs : retryAfterMs;
  return {
    totalHits: limit + 1,
    timeToExpire: seconds(limit === 0 ? retryMs : resetMs),
    isBlocked: true,
    timeToBlockExpire: Math.max(1, seconds(retryMs)),
  };
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1_000);
}
