import { InvalidInputError } from 'luanest/script-registry';
import { time } from '../../../internal/src';
import { events, type RateLimitEvents } from '../rate-limit.events';
import type { ResolvedRateLimitOptions } from '../rate-limit.options';
import type { RateLimitDecision } from '../rate-limit.types';
import type { NamedRule, RedisErrorPolicy } from '../rules/rule';
import { type Check, Decision, enforced, type Limiter, memoryId, refuses, type Verdict } from './decision';
import { FallbackLog } from './fallback-log';
import { MemoryLimiter } from './memory-limiter';
import { RefusalCounts } from './refusal-counts';

/** Circuit breaker: stops the calls to Redis after consecutive failures, and lets single calls through as a test. */
export class Breaker {
  private failures = 0;
  private openUntilMs = 0;
  private probing = false;

  /**
   * @param threshold number of consecutive failures that open the breaker
   * @param openMs time after the last failure until the open breaker lets one call through, ms
   * @param now monotonic clock, ms
   * @param changed called when the breaker opens and when it closes
   */
  constructor(
    private readonly threshold: number,
    private readonly openMs: number,
    private readonly now: () => number,
    private readonly changed: (state: 'opened' | 'closed') => void,
  ) {}

  /** True while the breaker stops all calls except test calls. */
  get open(): boolean {
    return this.failures >= this.threshold;
  }

  /**
   * Returns true if a call may be made now. While the breaker is open, it allows one test call when `openMs` have passed since
   * the last failure. It allows no second test call until a call has ended.
   */
  enter(): boolean {
    if (this.failures < this.threshold) return true;
    if (this.probing || this.now() < this.openUntilMs) return false;
    this.probing = true;
    return true;
  }

  succeeded(): void {
    if (this.failures === 0) return;
    // This call was made before the breaker opened. Its success does not show that Redis is available now.
    if (this.open && !this.probing) return;
    const wasOpen = this.open;
    this.failures = 0;
    this.probing = false;
    if (wasOpen) this.changed('closed');
  }

  /** Ends a call that was not sent. It does not show if Redis is available, so the next call may be the test call. */
  skipped(): void {
    this.probing = false;
  }

  failed(): void {
    const wasOpen = this.open;
    this.failures += 1;
    this.probing = false;
    if (!this.open) return;
    this.openUntilMs = this.now() + this.openMs;
    if (!wasOpen) this.changed('opened');
  }
}

/** A cached refusal of Redis. To save memory, it does not have the check, which contains the subject. */
interface Refusal extends Omit<Verdict, 'check' | 'nextMs' | 'at'> {
  readonly limit: number;
  readonly cost: number;
  /** Monotonic time at which the refused call began, ms. */
  readonly calledAtMs: number;
  /** Monotonic time from which the refusal is no longer used, ms. */
  readonly expiresAtMs: number;
}

/**
 * Caches refusals of Redis, so that this process can refuse further requests of the same subject (the counted client or user)
 * without a call to Redis.
 */
export class BlockCache {
  private readonly refusals = new Map<string, Refusal>();

  /**
   * @param maxRefusals maximum number of refusals, at least 1; the oldest refusal is evicted first
   * @param maxMs longest time for which a refusal is used, ms. If another process resets the subject, this process may use the
   * refusal for up to this time
   * @param now monotonic clock, ms
   */
  constructor(
    private readonly maxRefusals: number,
    private readonly maxMs: number,
    private readonly now: () => number,
  ) {}

  get size(): number {
    return this.refusals.size;
  }

  /** True if no refusal is cached. A field instead of a getter, for speed, because each request reads it. */
  isEmpty = true;

  /**
   * Returns the verdict of the cached refusal that applies to a check; undefined if there is none. The times of the verdict count
   * from now.
   */
  find(check: Check): Verdict | undefined {
    const id = memoryId(check.rule, check.subject);
    const refusal = this.refusals.get(id);
    if (refusal === undefined) return undefined;
    const now = this.now();
    if (now >= refusal.expiresAtMs) {
      this.delete(id);
      return undefined;
    }
    // The refused request had a higher cost or a lower limit. Redis may allow the present request, so Redis must decide.
    if (check.cost < refusal.cost || check.limit > refusal.limit) return undefined;
    const passedMs = Math.floor(now - refusal.calledAtMs);
    const { verdict, used } = refusal;
    const retryMs = Math.max(1, refusal.retryMs - passedMs);
    const resetMs = Math.max(0, refusal.resetMs - passedMs);
    // A refusal has charged nothing, so its time `at` is never read.
    return { check, verdict, used, resetMs, retryMs, nextMs: retryMs, at: 0 };
  }

  /** @param calledAtMs time of `now` at which the refused call began */
  add({ check, verdict, used, resetMs, retryMs }: Verdict, calledAtMs: number): void {
    const expiresAtMs = calledAtMs + Math.min(retryMs, this.maxMs);
    if (expiresAtMs <= this.now()) return;
    const { rule, subject, limit, cost } = check;
    const id = memoryId(rule, subject);
    this.refusals.delete(id);
    this.isEmpty = false;
    this.refusals.set(id, { limit, cost, verdict, used, resetMs, retryMs, calledAtMs, expiresAtMs });
    if (this.refusals.size <= this.maxRefusals) return;
    for (const oldest of this.refusals.keys()) {
      this.refusals.delete(oldest);
      return;
    }
  }

  remove(check: Pick<Check, 'rule' | 'subject'>): void {
    this.delete(memoryId(check.rule, check.subject));
  }

  private delete(id: string): void {
    this.refusals.delete(id);
    this.isEmpty = this.refusals.size === 0;
  }
}

export interface Clocks {
  /** Monotonic time, ms. */
  monotonicMs(): number;
  /** Time of day, us since 1970. */
  wallUs(): number;
}

/** Settings that are the same in every app. Only tests set their own. */
export interface LimiterSettings {
  readonly clocks: Clocks;
  /** Number of failures in a row that open the circuit breaker. */
  readonly failures: number;
  /** Time after the last failure until the open circuit breaker lets one request call Redis as a test, ms. */
  readonly openMs: number;
  /** Maximum number of refusals that a process caches. */
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
 * Decides requests. If a refusal is cached, uses it. Otherwise lets Redis decide. If Redis fails or the circuit breaker is open,
 * the option `onRedisError` decides.
 */
export class ResilientLimiter {
  private readonly clocks: Clocks;
  /** Requests that this process refused, for `luanest/console`. */
  readonly refusals = new RefusalCounts();
  private readonly breaker: Breaker;
  private readonly cache: BlockCache;
  private readonly local: MemoryLimiter;
  private readonly log: FallbackLog;

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
    this.log = new FallbackLog(now);
    // Redis counts by the time of day, so this process does the same.
    this.local = new MemoryLimiter(() => clocks.wallUs(), LOCAL_SUBJECTS);
  }

  /**
   * Decides a request. If `charge` is true, also counts it, as `Limiter.consume` describes. Does not reject if Redis fails: the
   * option `onRedisError` decides then, and the request is counted only with `local`.
   *
   * @throws InvalidInputError if a key or an argument is invalid
   */
  decide(checks: readonly Check[], charge: boolean): Promise<Decision> {
    if (checks.length === 0) return Promise.resolve(Decision.without('none', true));
    const cached = this.cache.isEmpty ? undefined : this.cachedRefusal(checks, charge);
    if (cached !== undefined) return Promise.resolve(this.published(cached, checks, charge));
    if (!this.breaker.enter()) return Promise.resolve(this.withoutRedis(checks, charge, BREAKER_OPEN));
    const { deadlineMs } = this.options;
    const calledAtMs = this.clocks.monotonicMs();
    const budget = { calledAtMs, startedAtMs: time.measuredAt(calledAtMs), deadlineMs };
    return this.limiter.consume(checks, charge, budget).then(
      (verdicts) => {
        this.breaker.succeeded();
        this.log.succeeded();
        const decision = new Decision('redis', verdicts, charge);
        if (!decision.allowed) {
          for (const verdict of verdicts) if (refuses(verdict)) this.cache.add(verdict, calledAtMs);
          if (charge) this.refusals.add(verdicts);
        }
        return this.published(decision, checks, charge);
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

  /** Resets a subject in Redis and in this process, as `Limiter.reset` describes. @throws the errors of ScriptRegistry.run() */
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

  /** Reads the counters and blocks of the checks from Redis, and counts nothing. @throws the errors of ScriptRegistry.run() */
  look(checks: readonly Check[]): Promise<readonly Verdict[]> {
    const calledAtMs = this.clocks.monotonicMs();
    const startedAtMs = time.measuredAt(calledAtMs);
    return this.limiter.consume(checks, false, { calledAtMs, startedAtMs, deadlineMs: this.adminDeadlineMs });
  }

  /** ScriptRegistry of the counters; undefined if they are not in Redis. */
  get registry(): object | undefined {
    return this.limiter.registry;
  }

  private get adminDeadlineMs(): number {
    return Math.max(MIN_ADMIN_DEADLINE_MS, this.options.deadlineMs);
  }

  private cachedRefusal(checks: readonly Check[], charge: boolean): Decision | undefined {
    for (const check of checks) {
      const verdict = enforced(check) ? this.cache.find(check) : undefined;
      if (verdict && charge) this.refusals.add([verdict]);
      if (verdict) return new Decision('cache', [verdict], false, false, checks);
    }
    return undefined;
  }

  private failed(checks: readonly Check[], charge: boolean, error: unknown): Decision {
    // The caller made a mistake, and Redis was not called. So `onRedisError` does not apply.
    if (error instanceof InvalidInputError) {
      this.breaker.skipped();
      throw error;
    }
    this.breaker.failed();
    return this.withoutRedis(checks, charge, error);
  }

  /** Decides by the strictest policy of the rules: `deny`, then `local`, then `allow`. `deny` of a shadow rule is ignored. */
  private withoutRedis(checks: readonly Check[], charge: boolean, error: unknown): Decision {
    const policyOf = ({ rule }: Check): RedisErrorPolicy => rule.onRedisError ?? this.options.onRedisError;
    const locals = checks.filter((check) => policyOf(check) === 'local');
    const denied = checks.some((check) => enforced(check) && policyOf(check) === 'deny');
    const policy = denied ? 'deny' : locals.length > 0 ? 'local' : 'allow';
    events.redisFailed.publish(() => ({ rules: checks.map(({ rule }) => rule.name), policy, error }));
    this.log.failed(policy, error);
    if (policy !== 'local') return this.published(Decision.without('policy', !denied), checks, charge);
    const verdicts = this.local.decide(locals, charge);
    if (charge) this.refusals.add(verdicts);
    return this.published(new Decision('local', verdicts, charge), checks, charge);
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
