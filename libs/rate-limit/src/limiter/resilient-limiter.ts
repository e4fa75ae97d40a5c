import { InvalidCallError, InvalidKeyError } from 'luanest/script-registry';
import { events } from '../rate-limit.events';
import type { ResolvedRateLimitOptions } from '../rate-limit.options';
import type { NamedRule, RedisErrorPolicy } from '../rules/rule';
import { BlockCache } from './block-cache';
import { Breaker } from './breaker';
import { Decision } from './decision';
import { enforced, type Check, type Limiter, type Verdicts } from './limiter.port';
import { MemoryLimiter } from './memory-limiter';

/** The clocks of this process. */
export interface Clocks {
  /** Runs on, whatever is done to the time of day, ms. */
  monotonicMs(): number;
  /** Unix time, us. */
  wallUs(): number;
}

const SYSTEM_CLOCKS: Clocks = { monotonicMs: () => performance.now(), wallUs: () => Date.now() * 1_000 };

/** Decides requests: by what is remembered, by Redis, or by policy while Redis does not answer. */
export class ResilientLimiter {
  private readonly breaker: Breaker;
  private readonly cache: BlockCache;
  private readonly local: MemoryLimiter;

  constructor(
    private readonly limiter: Limiter,
    private readonly options: ResolvedRateLimitOptions,
    private readonly clocks: Clocks = SYSTEM_CLOCKS,
  ) {
    const { breaker, blockCache, localSubjects } = options;
    const now = (): number => clocks.monotonicMs();
    this.breaker = new Breaker(breaker.failures, breaker.openMs, now, (state) =>
      events.breaker.publish(() => ({ state })),
    );
    this.cache = new BlockCache(blockCache.maxSubjects, blockCache.maxMs, now);
    // The clock of the wall, so that windows end when those in Redis do, more or less.
    this.local = new MemoryLimiter(() => clocks.wallUs(), localSubjects);
  }

  /** Decides, and charges what passes unless `charge` is false. Never rejects because of Redis. */
  decide(checks: readonly Check[], charge: boolean): Promise<Decision> {
    if (checks.length === 0) return Promise.resolve(Decision.without('none', true));
    const known = this.remembered(checks);
    if (known !== undefined) return Promise.resolve(reported(known, checks, charge));
    if (!this.breaker.enter()) return Promise.resolve(this.withoutRedis(checks, charge, BREAKER_OPEN));
    const budget = { since: this.clocks.monotonicMs(), deadlineMs: this.deadlineOf(checks) };
    const answered = (verdicts: Verdicts): Decision => this.answered(checks, charge, verdicts, budget.since);
    return this.limiter.consume(checks, charge, budget).then(answered, (error: unknown) => {
      const another = this.limiter.recover(error, checks, charge, budget);
      if (another === undefined) return this.failed(checks, charge, error);
      return another.then(answered, (last: unknown) => this.failed(checks, charge, last));
    });
  }

  /** Gives back what a decision charged; answers the hits. @throws LuanestError when Redis does not answer */
  async refund(decision: Decision, wanted?: (check: Check) => boolean): Promise<number> {
    const charged = Decision.takeCharged(decision, wanted);
    if (charged.length === 0) return 0;
    for (const { check } of charged) this.cache.forget(check);
    const given =
      decision.source === 'local'
        ? await this.local.refund(charged)
        : await this.limiter.refund(charged, this.patience);
    return given.reduce((sum, hits) => sum + hits, 0);
  }

  /** Forgets a subject. @throws LuanestError when Redis does not answer */
  async reset(rule: NamedRule, subject: string): Promise<boolean> {
    await this.local.reset(rule, subject);
    try {
      return await this.limiter.reset(rule, subject, this.patience);
    } finally {
      // Afterwards: a refusal that came meanwhile is of the time before.
      this.cache.forget({ rule, subject });
    }
  }

  /** Refuses a subject for a time. @throws LuanestError when Redis does not answer */
  async block(rule: NamedRule, subject: string, blockMs: number): Promise<void> {
    await this.local.block(rule, subject, blockMs);
    try {
      await this.limiter.block(rule, subject, blockMs, this.patience);
    } finally {
      this.cache.forget({ rule, subject });
    }
  }

  /** What is asked outside a request may wait longer than a request. */
  private get patience(): number {
    return Math.max(1_000, this.options.deadlineMs);
  }

  private remembered(checks: readonly Check[]): Decision | undefined {
    if (this.cache.size === 0) return undefined;
    for (const check of checks) {
      const verdict = enforced(check) ? this.cache.find(check) : undefined;
      if (verdict) return new Decision('cache', [check], { allowed: false, rules: [verdict] }, false, false, checks);
    }
    return undefined;
  }

  private answered(checks: readonly Check[], charge: boolean, verdicts: Verdicts, since: number): Decision {
    this.breaker.succeeded();
    if (!verdicts.allowed) {
      for (const [i, verdict] of verdicts.rules.entries()) {
        const check = checks[i] as Check;
        if (verdict.verdict > 0 && enforced(check)) this.cache.remember(check, verdict, since);
      }
    }
    return reported(new Decision('redis', checks, verdicts, charge), checks, charge);
  }

  private failed(checks: readonly Check[], charge: boolean, error: unknown): Decision {
    // The caller's own mistake says nothing of Redis.
    if (error instanceof InvalidCallError || error instanceof InvalidKeyError) {
      this.breaker.succeeded();
      throw error;
    }
    this.breaker.failed();
    return this.withoutRedis(checks, charge, error as Error);
  }

  private deadlineOf(checks: readonly Check[]): number {
    let deadlineMs = Infinity;
    for (let i = 0; i < checks.length; i++) {
      deadlineMs = Math.min(deadlineMs, (checks[i] as Check).rule.deadlineMs ?? this.options.deadlineMs);
    }
    return deadlineMs;
  }

  /** The strictest rule decides: one that denies, then those that count locally. */
  private withoutRedis(checks: readonly Check[], charge: boolean, error: Error): Decision {
    const policyOf = ({ rule }: Check): RedisErrorPolicy => rule.onRedisError ?? this.options.onRedisError;
    const locals = checks.filter((check) => policyOf(check) === 'local');
    const denied = checks.some((check) => enforced(check) && policyOf(check) === 'deny');
    const policy = denied ? 'deny' : locals.length > 0 ? 'local' : 'allow';
    events.failed.publish(() => ({ rules: checks.map(({ rule }) => rule.name), policy, error }));
    if (policy !== 'local') return reported(Decision.without('policy', !denied), checks, charge);
    return reported(new Decision('local', locals, this.local.decide(locals, charge), charge), checks, charge);
  }
}

const BREAKER_OPEN = new Error('Redis is not asked for a while, because it did not answer: the breaker is open.');

/** Tells listeners of a decision that counts; a look is none. */
function reported(decision: Decision, checks: readonly Check[], charge: boolean): Decision {
  const event = decision.allowed ? 'allowed' : 'refused';
  if (charge && events[event].hasSubscribers) {
    events[event].publish(() => ({
      rules: checks.map(({ rule }) => rule.name),
      violated: decision.rules.filter(({ allowed }) => !allowed).map(({ name }) => name),
      source: decision.source,
      retryAfterMs: decision.retryAfterMs,
    }));
  }
  return decision;
}
