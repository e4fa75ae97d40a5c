import { Checks, shown } from '../../internal/src';
import type { Check } from './limiter/limiter.port';
import type { ResilientLimiter } from './limiter/resilient-limiter';
import { InvalidRateLimitInputError } from './rate-limit.errors';
import type { RateLimitCheck, RateLimitDecision } from './rate-limit.types';
import { MAX_DURATION_MS, MAX_HITS, mostHits, named, resolveRule } from './rules/resolve-rule';
import type { NamedRule, RateLimitRule } from './rules/rule';

/** Options of one call of `consume` or `peek`; they replace values of the rule. */
export interface RateLimitOptions {
  /** Hits to count; integer from 0 to 1e9. Default: the rule's. */
  readonly cost?: number;
  /** Hits that are allowed in a window; integer from 0 to 1e9, for `sliding-log` to 10,000. Default: the rule's. */
  readonly limit?: number;
}

const NO_OPTIONS: RateLimitOptions = Object.freeze({});

/**
 * Counts hits of subjects under rules; works without HTTP.
 *
 * A rule is an object with a name, or the name of one of the module's rules.
 */
export class RateLimitService {
  private readonly resolved = new WeakMap<RateLimitRule, NamedRule>();
  private readonly byName: ReadonlyMap<string, NamedRule>;

  /** @param rules rules that calls may refer to by name */
  constructor(
    private readonly limiter: ResilientLimiter,
    rules: readonly NamedRule[],
  ) {
    this.byName = new Map(rules.map((rule) => [rule.name, rule]));
  }

  /**
   * Charges one rule if it allows the request.
   *
   * @param subject client, user or other party that is counted; text of at least 1 character
   * @returns the decision; if Redis fails, by the policy `onRedisError`
   * @throws InvalidRateLimitInputError, InvalidOptionError before anything is counted
   */
  consume(
    rule: RateLimitRule | string,
    subject: string,
    options: RateLimitOptions = NO_OPTIONS,
  ): Promise<RateLimitDecision> {
    return this.decide(() => [this.checkOf(rule, subject, options)], true);
  }

  /** Charges several rules, or none of them if one refuses. Throws as `consume` does. */
  consumeAll(checks: readonly RateLimitCheck[]): Promise<RateLimitDecision> {
    return this.decide(() => this.checksOf(checks), true);
  }

  /** Returns the decision that `consume` would make now, and charges nothing. Throws as `consume` does. */
  peek(
    rule: RateLimitRule | string,
    subject: string,
    options: RateLimitOptions = NO_OPTIONS,
  ): Promise<RateLimitDecision> {
    return this.decide(() => [this.checkOf(rule, subject, options)], false);
  }

  /** Returns the decision that `consumeAll` would make now, and charges nothing. Throws as `consume` does. */
  peekAll(checks: readonly RateLimitCheck[]): Promise<RateLimitDecision> {
    return this.decide(() => this.checksOf(checks), false);
  }

  /**
   * Refunds hits that a decision of this service charged and that still count. A second call refunds nothing.
   *
   * @param rules names of the rules to refund. Default: all
   * @returns refunded hits
   * @throws LuanestError if Redis fails
   */
  async refund(decision: RateLimitDecision, rules?: readonly string[]): Promise<number> {
    return this.limiter.refund(decision, rules && ((check: Check): boolean => rules.includes(check.rule.name)));
  }

  /**
   * Deletes the counter and the block of a subject under a rule.
   *
   * @returns true if there was a counter or a block
   * @throws LuanestError if Redis fails
   */
  async reset(rule: RateLimitRule | string, subject: string): Promise<boolean> {
    return this.limiter.reset(this.ruleOf(rule), checkSubject(subject));
  }

  /**
   * Refuses a subject under a rule for `blockMs`, and deletes its counter.
   *
   * @param blockMs ms; integer from 1 to 400 days
   * @throws LuanestError if Redis fails
   */
  async block(rule: RateLimitRule | string, subject: string, blockMs: number): Promise<void> {
    const checkedMs = input.integer('blockMs', blockMs, 1, MAX_DURATION_MS);
    await this.limiter.block(this.ruleOf(rule), checkSubject(subject), checkedMs);
  }

  // Not async: one promise less per call. An invalid call rejects all the same.
  private decide(makeChecks: () => Check[], charge: boolean): Promise<RateLimitDecision> {
    try {
      return this.limiter.decide(makeChecks(), charge);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  private checksOf(checks: readonly RateLimitCheck[]): Check[] {
    const resolved = checks.map((check) => this.checkOf(check.rule, check.subject, check));
    for (const [i, { rule, subject }] of resolved.entries()) {
      if (resolved.findIndex((other) => other.rule.name === rule.name && other.subject === subject) === i) continue;
      throw input.error(`Rule ${shown(rule.name)} is given twice for one subject. Give it once, with the total cost.`);
    }
    return resolved;
  }

  private checkOf(given: RateLimitRule | string, subject: string, { cost, limit }: RateLimitOptions): Check {
    const rule = this.ruleOf(given);
    return {
      rule,
      subject: checkSubject(subject),
      limit: numberOf(rule, 'limit', limit, mostHits(rule.algorithm)),
      cost: numberOf(rule, 'cost', cost, MAX_HITS),
    };
  }

  private ruleOf(rule: RateLimitRule | string): NamedRule {
    if (typeof rule !== 'string') return this.resolved.get(rule) ?? this.resolve(rule);
    const found = this.byName.get(rule);
    if (found) return found;
    const names = [...this.byName.keys()].join(', ') || 'none';
    throw input.error(`The module has no rule named ${shown(rule)}. Known: ${names}.`);
  }

  private resolve(rule: RateLimitRule): NamedRule {
    const checked = resolveRule(rule);
    if (checked.name === undefined)
      throw input.error('The rule has no name. The name is part of the key of its counters.');
    const resolved = named(checked, checked.name);
    this.resolved.set(rule, resolved);
    return resolved;
  }
}

const input = new Checks('RateLimitService', (message) => new InvalidRateLimitInputError(message));

function checkSubject(subject: string): string {
  if (typeof subject === 'string' && subject !== '') return subject;
  return input.refuse('subject', subject, 'text of at least 1 character');
}

/** Returns the limit or the cost of a call: the given one, or the rule's. */
function numberOf(rule: NamedRule, option: 'limit' | 'cost', given: number | undefined, max: number): number {
  if (given !== undefined) return input.integer(option, given, 0, max);
  const own = rule[option];
  if (typeof own === 'number') return own;
  throw input.error(
    `The ${option} of rule ${shown(rule.name)} is a function of the request. Give the ${option} in this call.`,
  );
}
