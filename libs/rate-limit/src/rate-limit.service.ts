import { Checks, shown } from '../../internal/src';
import { ResilientLimiter, type Clocks } from './limiter/resilient-limiter';
import type { Decision } from './limiter/decision';
import type { Check, Limiter } from './limiter/limiter.port';
import { InvalidRateLimitInputError } from './rate-limit.errors';
import type { ResolvedRateLimitOptions } from './rate-limit.options';
import type { RateLimitCheck, RateLimitDecision } from './rate-limit.types';
import { MAX_DURATION_MS, MAX_HITS, mostHits, named, resolveRule } from './rules/resolve-rule';
import type { NamedRule, RateLimitRule } from './rules/rule';

/** Figures of one call, where they are not the rule's. */
export interface RateLimitOptions {
  /** Hits to count; integer of 0 to 1e9. Default: the rule's. */
  readonly cost?: number;
  /** Hits that pass in a window; integer of 0 to the algorithm's most. Default: the rule's. */
  readonly limit?: number;
}

const RULE_FIGURES: RateLimitOptions = Object.freeze({});

/**
 * Counts hits of subjects under rules; works without HTTP.
 *
 * A rule is given as an object with a name, or as the name of one of the module's rules.
 */
export class RateLimitService {
  private readonly decider: ResilientLimiter;
  private readonly resolved = new WeakMap<RateLimitRule, NamedRule>();
  private readonly byName: ReadonlyMap<string, NamedRule>;
  private lastGiven: RateLimitRule | undefined;
  private lastResolved: NamedRule | undefined;

  /** @param clocks of this process; default its own */
  constructor(limiter: Limiter, options: ResolvedRateLimitOptions, clocks?: Clocks) {
    this.decider = new ResilientLimiter(limiter, options, clocks);
    this.byName = new Map(options.rules.map((rule) => [rule.name, rule]));
  }

  /**
   * Charges one rule.
   *
   * @throws InvalidRateLimitInputError, InvalidOptionError before anything is counted
   */
  consume(
    rule: RateLimitRule | string,
    subject: string,
    options: RateLimitOptions = RULE_FIGURES,
  ): Promise<RateLimitDecision> {
    // Without `attempt`: this is the call that is made most.
    let check: Check;
    try {
      check = this.checkOf(rule, subject, options);
    } catch (error) {
      return Promise.reject(asError(error));
    }
    return this.decider.decide([check], true);
  }

  /** Charges several rules, or none of them when one refuses. Throws as `consume` does. */
  consumeAll(checks: readonly RateLimitCheck[]): Promise<RateLimitDecision> {
    return this.attempt(() => this.checksOf(checks), true);
  }

  /** What `consume` would answer now; nothing is charged. Throws as `consume` does. */
  peek(
    rule: RateLimitRule | string,
    subject: string,
    options: RateLimitOptions = RULE_FIGURES,
  ): Promise<RateLimitDecision> {
    return this.attempt(() => [this.checkOf(rule, subject, options)], false);
  }

  /** What `consumeAll` would answer now; nothing is charged. Throws as `consume` does. */
  peekAll(checks: readonly RateLimitCheck[]): Promise<RateLimitDecision> {
    return this.attempt(() => this.checksOf(checks), false);
  }

  /**
   * Gives back what a decision of this service charged, as far as it still counts; a second time gives nothing.
   *
   * @param rules names of the rules to give back to; default all
   * @returns hits that were given back
   * @throws LuanestError when Redis does not answer
   */
  async refund(decision: RateLimitDecision, rules?: readonly string[]): Promise<number> {
    const wanted = rules && ((check: Check): boolean => rules.includes(check.rule.name));
    return this.decider.refund(decision as Decision, wanted);
  }

  /**
   * Forgets what is counted of a subject, and its block.
   *
   * @returns whether anything was known of it
   * @throws LuanestError when Redis does not answer
   */
  async reset(rule: RateLimitRule | string, subject: string): Promise<boolean> {
    return this.decider.reset(this.ruleOf(rule), checkSubject(subject));
  }

  /**
   * Refuses a subject for a time, whatever it has used; what it has used is forgotten.
   *
   * @param blockMs ms; integer of 1 to 400 days
   * @throws LuanestError when Redis does not answer
   */
  async block(rule: RateLimitRule | string, subject: string, blockMs: number): Promise<void> {
    const limitMs = input.integer('blockMs', blockMs, 1, MAX_DURATION_MS);
    await this.decider.block(this.ruleOf(rule), checkSubject(subject), limitMs);
  }

  /** Charges checks whose figures are known; used by the guard. */
  decide(checks: readonly Check[]): Promise<RateLimitDecision> {
    return this.decider.decide(checks, true);
  }

  /** Not async, because every promise on this way is a good part of what a check costs. */
  private attempt(makeChecks: () => Check[], charge: boolean): Promise<RateLimitDecision> {
    try {
      return this.decider.decide(makeChecks(), charge);
    } catch (error) {
      return Promise.reject(asError(error));
    }
  }

  private checksOf(checks: readonly RateLimitCheck[]): Check[] {
    const resolved = checks.map((check) => this.checkOf(check.rule, check.subject, check));
    for (const [i, { rule, subject }] of resolved.entries()) {
      if (resolved.findIndex((other) => other.rule.name === rule.name && other.subject === subject) === i) continue;
      throw new InvalidRateLimitInputError(
        `Rule ${shown(rule.name)} is given twice for one subject. Give it once, with the sum of the costs.`,
      );
    }
    return resolved;
  }

  private checkOf(given: RateLimitRule | string, subject: string, { cost, limit }: RateLimitOptions): Check {
    const rule = this.ruleOf(given);
    return {
      rule,
      subject: checkSubject(subject),
      limit: figureOf(rule, 'limit', limit, mostHits(rule.algorithm)),
      cost: figureOf(rule, 'cost', cost, MAX_HITS),
    };
  }

  private ruleOf(rule: RateLimitRule | string): NamedRule {
    if (typeof rule === 'string') {
      const found = this.byName.get(rule);
      if (found) return found;
      const known = [...this.byName.keys()].join(', ') || 'none';
      throw new InvalidRateLimitInputError(
        `There is no rule named ${shown(rule)} among the module's rules. Known: ${known}.`,
      );
    }
    // Calls of one rule come in runs, and a look into a WeakMap is not free.
    if (rule === this.lastGiven) return this.lastResolved as NamedRule;
    const resolved = this.resolved.get(rule) ?? this.resolve(rule);
    this.lastGiven = rule;
    this.lastResolved = resolved;
    return resolved;
  }

  private resolve(rule: RateLimitRule): NamedRule {
    const checked = resolveRule(rule);
    if (checked.name === undefined) {
      throw new InvalidRateLimitInputError(
        'A rule that is used by the service needs a name, which names its counters.',
      );
    }
    const resolved = named(checked, checked.name);
    this.resolved.set(rule, resolved);
    return resolved;
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function checkSubject(subject: string): string {
  if (typeof subject === 'string' && subject !== '') return subject;
  return input.refuse('subject', subject, 'text of at least 1 character');
}

const input = new Checks('RateLimitService', (message) => new InvalidRateLimitInputError(message));

function figureOf(rule: NamedRule, what: 'limit' | 'cost', given: number | undefined, most: number): number {
  if (given !== undefined) return input.integer(what, given, 0, most);
  const own = rule[what];
  if (typeof own === 'number') return own;
  throw new InvalidRateLimitInputError(
    `Rule ${shown(rule.name)} has a function for its ${what}, which needs a request. Give the ${what} in the call.`,
  );
}
