import { isIntegerOf, shown } from '../../../internal/src';
import { ServiceUnavailableException } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import { InvalidRateLimitInputError } from '../rate-limit.errors';
import type { RateLimitService } from '../rate-limit.service';
import type { RateLimitDecision, RateLimitRuleDecision } from '../rate-limit.types';
import { MAX_DURATION_MS, mostHits, named, resolveRule } from '../rules/resolve-rule';
import type { NamedRule, RateLimitAlgorithm } from '../rules/rule';

type ThrottlerRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/** Rules that are kept; after so many the keeping starts again. */
const MAX_RULES = 1_000;

const UNLIMITED: ThrottlerRecord = Object.freeze({
  totalHits: 0,
  timeToExpire: 0,
  isBlocked: false,
  timeToBlockExpire: 0,
});

/**
 * Counts for the guard of `@nestjs/throttler`, in Redis.
 *
 * A refusal starts a block of `blockDuration` and is not counted; what comes during a block neither counts nor makes it
 * longer; after it a fresh window begins.
 */
export class RateLimitThrottlerStorage implements ThrottlerStorage {
  /** By throttler, ttl and blockDuration: routes of one throttler may have several. */
  private rules = new Map<string, NamedRule>();

  /** @param algorithm of all throttlers */
  constructor(
    private readonly service: RateLimitService,
    private readonly algorithm: RateLimitAlgorithm,
  ) {}

  /**
   * Counts one hit, unless it is refused.
   *
   * @param key who is counted; text of at least 1 character
   * @param ttl length of the window, ms; integer of 1 to 400 days
   * @param limit hits that pass in a window; integer of 0 to 1e9, for `sliding-log` to 10,000, or Infinity for no limit
   * @param blockDuration how long the key is blocked after a refusal, ms; integer of 0 (not at all) to 400 days
   * @param throttlerName names the counters
   * @returns hits that count (one more than the limit where it is refused), and seconds, rounded up
   * @throws InvalidRateLimitInputError before anything is counted
   * @throws ServiceUnavailableException where Redis does not answer and `onRedisError` is `deny`
   */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerRecord> {
    if (typeof key !== 'string' || key === '') {
      throw new InvalidRateLimitInputError(
        `The key of throttler ${shown(throttlerName)} is ${shown(key)}. Let generateKey answer text of at least 1 character.`,
      );
    }
    const rule = this.ruleOf(throttlerName, ttl, blockDuration);
    if (limit === Infinity) return UNLIMITED;
    const hits = checked(throttlerName, 'limit', limit, 0, mostHits(this.algorithm), 'Infinity is no limit.');
    return recordOf(await this.service.decide([{ rule, subject: key, limit: hits, cost: 1 }]), hits);
  }

  private ruleOf(throttler: string, ttl: number, blockDuration: number): NamedRule {
    const id = `${ttl}:${blockDuration}:${throttler}`;
    const kept = this.rules.get(id);
    if (kept !== undefined) return kept;
    if (typeof throttler !== 'string' || throttler === '') {
      throw new InvalidRateLimitInputError(
        `The name of a throttler is ${shown(throttler)}. Expected text of at least 1 character.`,
      );
    }
    const windowMs = checked(throttler, 'ttl', ttl, 1, MAX_DURATION_MS, 'To limit nothing, skip the throttler.');
    const blockMs = checked(throttler, 'blockDuration', blockDuration, 0, MAX_DURATION_MS, '0 is no block.');
    const figures = resolveRule({ limit: 0, windowMs, blockMs, algorithm: this.algorithm });
    // Its own part of the names: rules of RateLimitModule on the same registry count apart.
    // See DECISIONS.md: throttler-storage-is-a-subpath
    const rule = Object.freeze({ ...named(figures, `throttler.${throttler}`), freshAfterBlock: true });
    // A ttl may be computed for each request.
    if (this.rules.size >= MAX_RULES) this.rules = new Map();
    this.rules.set(id, rule);
    return rule;
  }
}

function checked(throttler: string, what: string, value: number, least: number, most: number, hint: string): number {
  if (isIntegerOf(value, least, most)) return value;
  const unit = what === 'limit' ? 'an integer' : 'ms, an integer';
  throw new InvalidRateLimitInputError(
    `The ${what} of throttler ${shown(throttler)} is ${shown(value)}. Expected ${unit} from ${least} to ${most}. ${hint}`,
  );
}

function recordOf({ allowed, reason, rules: [rule] }: RateLimitDecision, limit: number): ThrottlerRecord {
  if (reason === 'redis-error') {
    throw new ServiceUnavailableException('The rate limit cannot be checked at the moment.');
  }
  if (allowed) return { ...UNLIMITED, totalHits: rule?.used ?? 0, timeToExpire: seconds(rule?.resetMs ?? 0) };
  const { blocked, resetMs, windowMs, retryAfterMs } = rule as RateLimitRuleDecision;
  // A limit of 0 lets nothing pass: throttler wants a number, so clients try again after a block, or after a ttl.
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
