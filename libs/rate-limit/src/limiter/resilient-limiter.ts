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

/** Circuit breaker: stops calls to Redis after several failures in a row, and then lets single calls through as a test. */
export class Breaker {
  private failures = 0;
  private openUntilMs = 0;
  private probing = false;

  /**
   * @param threshold number of consecutive failures that open the breaker
   * @param openMs time after the last failure until one call is let through as a test, ms
   * @param now monotonic clock, ms
   * @param changed called when the breaker opens and when it closes
   */
  constructor(
    private readonly threshold: number,
    private readonly openMs: number,
    private readonly now: () => number,
    private readonly changed: (state: 'opened' | 'closed') => void,
  ) {}

  /** True while calls are stopped, except for test calls. */
  get open(): boolean {
    return this.failures >= this.threshold;
  }

  /**
   * Returns true if a call may be made now. While calls are stopped, one test call is allowed when `openMs` have passed since the last
   * failure, and the next one not before that call has ended.
   */
  enter(): boolean {
    if (this.failures < this.threshold) return true;
    if (this.probing || this.now() < this.openUntilMs) return false;
    this.probing = true;
    return true;
  }

  succeeded(): void {
    if (this.failures === 0) return;
    // This call was made before the calls were stopped. Its success does not show that Redis works now.
    if (this.open && !this.probing) return;
    const wasOpen = this.open;
    this.failures = 0;
    this.probing = false;
    if (wasOpen) this.changed('closed');
  }

  /** Ends a call that was not sent. It proves nothing about Redis, so the next call may be the test call. */
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

/** A cached refusal. To save memory, it does not contain rule and subject: its key in the map identifies them. */
interface Refusal extends Omit<Verdict, 'check' | 'nextMs' | 'at'> {
  readonly limit: number;
  readonly cost: number;
  /** Time at which the refused call began, by the monotonic clock, ms. */
  readonly calledAtMs: number;
  /** Time from which the cached refusal is not used any more, by the monotonic clock, ms. */
  readonly expiresAtMs: number;
}

/** Caches refusals of Redis, so that this process can refuse further requests of the same client or user without calling Redis. */
export class BlockCache {
  private readonly refusals = new Map<string, Refusal>();

  /**
   * @param maxRefusals maximum number of refusals, at least 1; the oldest refusal is evicted first
   * @param maxMs longest time for which a refusal is used, ms. After another process has reset the subject, requests may still be refused
   *   for this time
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

  /** True if no refusal is cached. Each request reads this, so for speed it is a field, not a getter. */
  isEmpty = true;

  /** Returns the cached refusal for a request, with times that count from now; undefined if there is none. */
  find(check: Check): Verdict | undefined {
    const id = memoryId(check.rule, check.subject);
    const refusal = this.refusals.get(id);
    if (refusal === undefined) return undefined;
    const now = this.now();
    if (now >= refusal.expiresAtMs) {
      this.delete(id);
      return undefined;
    }
    // The refused request had a higher cost or a lower limit than this one, so only Redis can decide.
    if (check.cost < refusal.cost || check.limit > refusal.limit) return undefined;
    const passedMs = Math.floor(now - refusal.calledAtMs);
    const { verdict, used } = refusal;
    const retryMs = Math.max(1, refusal.retryMs - passedMs);
    const resetMs = Math.max(0, refusal.resetMs - passedMs);
    // A refusal has counted nothing, so its time `at` is not needed.
    return { check, verdict, used, resetMs, retryMs, nextMs: retryMs, at: 0 };
  }

  /** @param calledAtMs time at which the refused call began, by the monotonic clock, ms */
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
  monotonicMs(): number;
  /** Time of day, us since 1970. */
  wallUs(): number;
}

/** Settings that only tests change. */
export interface LimiterSettings {
  readonly clocks: Clocks;
  /** Number of failures in a row after which the circuit breaker stops calls to Redis. */
  readonly failures: number;
  /** Time after the last failure until the circuit breaker lets one request call Redis as a test, ms. */
  readonly openMs: number;
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
/** Maximum number of counters (pairs of rule and subject) in this process while Redis does not decide. */
const LOCAL_SUBJECTS = 10_000;
/** Shortest deadline of refund, reset and block, ms. No request waits for them, so they may take longer than decisions. */
const MIN_ADMIN_DEADLINE_MS = 1_000;

export type ResilientLimiterOptions = Pick<ResolvedRateLimitOptions, 'onRedisError' | 'deadlineMs'>;

/**
 * Decides requests: by a cached refusal, otherwise by Redis. If Redis fails, or the circuit breaker has stopped the calls, the option
 * `onRedisError` decides.
 */
export class ResilientLimiter {
  private readonly clocks: Clocks;
  /** Numbers of requests that this process has refused, for `luanest/console`. */
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
   * Decides a request, and with `charge` true also counts it. If Redis fails, the option `onRedisError` decides instead, and the request is
   * counted only with `local`.
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
        if (this.log.failures > 0) this.log.succeeded();
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
   * Takes back the hits that a decision has counted. Returns their number.
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
      // Another request may have cached a refusal while the refund ran, so cached refusals are removed only now.
      for (const { check } of charged) this.cache.remove(check);
    }
  }

  /** Resets a subject in Redis and in this process. @throws the errors of ScriptRegistry.run() */
  async reset(rule: NamedRule, subject: string): Promise<boolean> {
    await this.local.reset(rule, subject);
    try {
      return await this.limiter.reset(rule, subject, this.adminDeadlineMs);
    } finally {
      // Another request may have cached a refusal while the reset ran, so the cached refusal is removed only now.
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

  /** Reads counters and blocks from Redis, without counting anything. @throws the errors of ScriptRegistry.run() */
  look(checks: readonly Check[]): Promise<readonly Verdict[]> {
    const calledAtMs = this.clocks.monotonicMs();
    const startedAtMs = time.measuredAt(calledAtMs);
    return this.limiter.consume(checks, false, { calledAtMs, startedAtMs, deadlineMs: this.adminDeadlineMs });
  }

  /** ScriptRegistry whose Redis has the counters; undefined if they are not in Redis. */
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
    // The caller has made a mistake, and Redis was not called, so `onRedisError` does not apply.
    if (error instanceof InvalidInputError) {
      this.breaker.skipped();
      throw error;
    }
    this.breaker.failed();
    return this.withoutRedis(checks, charge, error);
  }

  /**
   * Decides without Redis, by the strictest `onRedisError` of the rules: `deny`, then `local`, then `allow`. `deny` of a shadow rule is
   * ignored.
   */
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

  /** Publishes a decision as an event, unless `charge` is false, as for a peek. Returns the decision. */
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
  'RateLimitModule did not call Redis, because its last calls to Redis failed (the circuit breaker is open). One request a second ' +
    'calls Redis, to find out if it replies again. Check that Redis is reachable.',
);
