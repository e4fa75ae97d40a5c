import { InvalidCallError, InvalidKeyError } from 'luanest/script-registry';
import { time } from '../../../internal/src';
import { events, type RateLimitEvents } from '../rate-limit.events';
import type { ResolvedRateLimitOptions } from '../rate-limit.options';
import type { RateLimitDecision } from '../rate-limit.types';
import type { NamedRule, RedisErrorPolicy } from '../rules/rule';
import { BlockCache } from './block-cache';
import { Breaker } from './breaker';
import { Decision } from './decision';
import { enforced, type Check, type Limiter, type Verdicts } from './limiter.port';
import { MemoryLimiter } from './memory-limiter';

export interface Clocks {
  /** Monotonic time, ms. */
  monotonicMs(): number;
  /** Time of day, us since 1970. */
  wallUs(): number;
}

/** Settings that are the same in every app. Only tests set their own. */
export interface LimiterSettings {
  readonly clocks: Clocks;
  /** Failures in a row that open the circuit breaker. */
  readonly failures: number;
  /** Time after a failure in which no request calls Redis while the breaker is open, before one tries again, ms. */
  readonly openMs: number;
  /** Most refusals that a process caches. */
  readonly cachedRefusals: number;
}

const SETTINGS: LimiterSettings = {
  clocks: { monotonicMs: () => time.monotonicMs(), wallUs: () => time.nowMs() * 1_000 },
  failures: 5,
  openMs: 1_000,
  cachedRefusals: 10_000,
};

/** Longest time for which a cached refusal is used, ms. */
const CACHED_REFUSAL_MS = 5_000;
/** Maximum number of pairs of rule and subject (the counted client or user) that a process counts without Redis. */
const LOCAL_SUBJECTS = 10_000;
/** Minimum deadline of refund, reset and block, ms. RateLimitGuard waits for none of these calls. */
const MIN_ADMIN_DEADLINE_MS = 1_000;

export type ResilientLimiterOptions = Pick<ResolvedRateLimitOptions, 'onRedisError' | 'deadlineMs'>;

/**
 * Decides requests: by a cached refusal, else by Redis, and by the policy `onRedisError` if Redis fails or the breaker is
 * open.
 */
export class ResilientLimiter {
  private readonly clocks: Clocks;
  private readonly breaker: Breaker;
  private readonly cache: BlockCache;
  private readonly local: MemoryLimiter;

  constructor(
    private readonly limiter: Limiter,
    private readonly options: ResilientLimiterOptions,
    settings: Partial<LimiterSettings> = {},
  ) {
    const { clocks, failures, openMs, cachedRefusals } = { ...SETTINGS, ...settings };
    this.clocks = clocks;
    const now = (): number => clocks.monotonicMs();
    this.breaker = new Breaker(failures, openMs, now, (state) => events.breakerChanged.publish(() => ({ state })));
    this.cache = new BlockCache(cachedRefusals, CACHED_REFUSAL_MS, now);
    // Redis counts by the time of day, so this process does the same.
    this.local = new MemoryLimiter(() => clocks.wallUs(), LOCAL_SUBJECTS);
  }

  /**
   * Decides a request. Charges it if the request is allowed by a rule and `charge` is true. Does not reject if Redis fails: then
   * the policy `onRedisError` decides, and only the policy `local` charges.
   *
   * @throws InvalidCallError, InvalidKeyError if a key or an argument is invalid
   */
  decide(checks: readonly Check[], charge: boolean): Promise<Decision> {
    if (checks.length === 0) return Promise.resolve(Decision.without('none', true));
    const cached = this.cache.isEmpty ? undefined : this.cachedRefusal(checks);
    if (cached !== undefined) return Promise.resolve(this.published(cached, checks, charge));
    if (!this.breaker.enter()) return Promise.resolve(this.withoutRedis(checks, charge, BREAKER_OPEN));
    let deadlineMs = Infinity;
    for (const { rule } of checks) deadlineMs = Math.min(deadlineMs, rule.deadlineMs ?? this.options.deadlineMs);
    const calledAtMs = this.clocks.monotonicMs();
    const budget = { calledAtMs, startedAtMs: time.measuredAt(calledAtMs), deadlineMs };
    return this.limiter.consume(checks, charge, budget).then(
      (verdicts) => {
        this.breaker.succeeded();
        if (!verdicts.allowed) this.keepRefusals(checks, verdicts, calledAtMs);
        return this.published(new Decision('redis', checks, verdicts, charge), checks, charge);
      },
      (error: unknown) => this.failed(checks, charge, error),
    );
  }

  /**
   * Refunds the hits that a decision charged. Returns the number of refunded hits.
   *
   * @throws the errors of ScriptRegistry.run()
   */
  async refund(decision: RateLimitDecision, wanted?: (check: Check) => boolean): Promise<number> {
    const charged = Decision.takeCharged(decision, wanted);
    if (charged.length === 0) return 0;
    try {
      const given =
        decision.source === 'local'
          ? await this.local.refund(charged)
          : await this.limiter.refund(charged, this.adminDeadlineMs);
      return given.reduce((sum, hits) => sum + hits, 0);
    } finally {
      // A cached refusal is removed after the refund, because another request may have cached one while the refund ran.
      for (const { check } of charged) this.cache.remove(check);
    }
  }

  /** Resets a subject in Redis and in this process, as `Limiter.reset` says. @throws the errors of ScriptRegistry.run() */
  async reset(rule: NamedRule, subject: string): Promise<boolean> {
    await this.local.reset(rule, subject);
    try {
      return await this.limiter.reset(rule, subject, this.adminDeadlineMs);
    } finally {
      // A cached refusal is removed after the reset, because another request may have cached one while the reset ran.
      this.cache.remove({ rule, subject });
    }
  }

  /** Blocks a subject in Redis and in this process. @throws the errors of ScriptRegistry.run() */
  async block(rule: NamedRule, subject: string, blockMs: number): Promise<void> {
    await this.local.block(rule, subject, blockMs);
    try {
      await this.limiter.block(rule, subject, blockMs, this.adminDeadlineMs);
    } finally {
      this.cache.remove({ rule, subject });
    }
  }

  private get adminDeadlineMs(): number {
    return Math.max(MIN_ADMIN_DEADLINE_MS, this.options.deadlineMs);
  }

  private cachedRefusal(checks: readonly Check[]): Decision | undefined {
    for (const check of checks) {
      const verdict = enforced(check) ? this.cache.find(check) : undefined;
      if (verdict) return new Decision('cache', [check], { allowed: false, rules: [verdict] }, false, false, checks);
    }
    return undefined;
  }

  private keepRefusals(checks: readonly Check[], { rules }: Verdicts, calledAtMs: number): void {
    for (const [i, verdict] of rules.entries()) {
      const check = checks[i] as Check;
      if (verdict.verdict > 0 && enforced(check)) this.cache.add(check, verdict, calledAtMs);
    }
  }

  private failed(checks: readonly Check[], charge: boolean, error: unknown): Decision {
    // The caller made a mistake, and Redis was not called, so the policy does not apply.
    if (error instanceof InvalidCallError || error instanceof InvalidKeyError) {
      this.breaker.skipped();
      throw error;
    }
    this.breaker.failed();
    return this.withoutRedis(checks, charge, error);
  }

  /** Decides by the strictest policy of the rules: `deny` (of a shadow rule ignored), then `local`, then `allow`. */
  private withoutRedis(checks: readonly Check[], charge: boolean, error: unknown): Decision {
    const policyOf = ({ rule }: Check): RedisErrorPolicy => rule.onRedisError ?? this.options.onRedisError;
    const locals = checks.filter((check) => policyOf(check) === 'local');
    const denied = checks.some((check) => enforced(check) && policyOf(check) === 'deny');
    const policy = denied ? 'deny' : locals.length > 0 ? 'local' : 'allow';
    events.redisFailed.publish(() => ({ rules: checks.map(({ rule }) => rule.name), policy, error }));
    if (policy !== 'local') return this.published(Decision.without('policy', !denied), checks, charge);
    return this.published(new Decision('local', locals, this.local.decide(locals, charge), charge), checks, charge);
  }

  /** Publishes the event of a decision, unless the call is a peek (`charge` is false). Returns the decision. */
  private published(decision: Decision, checks: readonly Check[], charge: boolean): Decision {
    const event = decision.allowed ? 'requestAllowed' : 'requestRefused';
    if (!charge || !events[event].hasSubscribers) return decision;
    const summary = (): RateLimitEvents['requestRefused'] => ({
      rules: checks.map(({ rule }) => rule.name),
      violated: decision.rules.filter(({ allowed }) => !allowed).map(({ name }) => name),
      source: decision.source,
      retryAfterMs: decision.retryAfterMs,
    });
    events[event].publish(summary, this.limiter.registry);
    return decision;
  }
}

const BREAKER_OPEN = new Error(
  'Redis was not called, because the circuit breaker is open: the last calls to Redis failed. One request a second tries it.',
);
