import type { ScriptRegistry } from 'luanest/script-registry';
import { Checks, CONSOLE, shown, InvalidInputError } from '../../internal/src';
import { capacityOf, Check, memoryId, type Verdict } from './limiter/decision';
import type { ResilientLimiter } from './limiter/resilient-limiter';
import { blockOf, type RateLimitConsole, type SubjectLook } from './rate-limit.console';
import type { RateLimitCheck, RateLimitDecision } from './rate-limit.types';
import { MAX_DURATION_MS, MAX_HITS, mostHits, named, resolveRule } from './rules/resolve-rule';
import type { NamedRule, RateLimitRule } from './rules/rule';

type CallOptions = Pick<RateLimitCheck, 'cost' | 'limit'>;
/** First argument of `consume` and `peek`: one rule, or a list of rules with their subjects. */
type First = RateLimitRule | string | readonly RateLimitCheck[];

const NO_OPTIONS: CallOptions = Object.freeze({});
/** Maximum number of rules to remember for `luanest/console`. */
const MAX_KNOWN = 1_000;
/** Maximum number of rules that one call reads for `luanest/console`. */
const LOOK_RULES = 50;

/**
 * Limits how often something happens, without HTTP: for example how many mails a user sends. A rule limits the hits of each
 * subject. A subject is the client, user or other party that is counted.
 *
 * In each call, `rule` is a rule object with a name, or the name of one of the module's rules.
 */
export class RateLimitService {
  /** Name of this class for `luanest/console`. A bundler may shorten the name of the class itself. */
  static readonly [CONSOLE] = 'RateLimitService';

  private readonly resolved = new WeakMap<RateLimitRule, NamedRule>();
  private readonly byName: ReadonlyMap<string, NamedRule>;
  /** Rules of the module and of calls so far, by algorithm, window and name. */
  private readonly known: Map<string, NamedRule>;

  constructor(
    private readonly limiter: ResilientLimiter,
    rules: readonly NamedRule[],
  ) {
    this.byName = new Map(rules.map((rule) => [rule.name, rule]));
    this.known = new Map(rules.map((rule) => [memoryId(rule, '-'), rule]));
  }

  /**
   * Checks a request against several rules. If no rule refuses, the request is counted under each rule that allows it. If a rule refuses,
   * the request is counted under no rule. A shadow rule only counts, and never refuses. On a Cluster, hits of a refused request may be
   * counted for a moment and then refunded, if the rules count different subjects. RateLimitGuard calls this method. Throws the same errors
   * as the call with one rule.
   */
  consume(checks: readonly RateLimitCheck[]): Promise<RateLimitDecision>;
  /**
   * Counts a request of a subject under one rule, if the rule allows the request. If Redis fails, the policy `onRedisError`
   * decides.
   *
   * @param subject client, user or other party that is counted; text of at least 1 character
   * @param options `cost` and `limit` of this call, as in RateLimitCheck; they replace the rule's values
   * @throws InvalidInputError for an invalid argument, InvalidOptionError for an invalid rule; in both cases nothing is counted
   *
   * @example
   * ```ts
   * const decision = await limits.consume({ name: 'mail', limit: 3, windowMs: 60_000 }, userId);
   * if (!decision.allowed) throw new Error(`Try again in ${decision.retryAfterMs} ms.`);
   * ```
   */
  consume(rule: RateLimitRule | string, subject: string, options?: CallOptions): Promise<RateLimitDecision>;
  consume(first: First, subject?: string, options: CallOptions = NO_OPTIONS): Promise<RateLimitDecision> {
    return this.decide(first, subject, options, true);
  }

  /**
   * Returns the decision that `consume` would make now, but counts nothing and starts no block. So `retryAfterMs` may be shorter
   * than that of `consume`. Throws the same errors as `consume`.
   */
  peek(checks: readonly RateLimitCheck[]): Promise<RateLimitDecision>;
  /**
   * Returns the decision that `consume` would make now, but counts nothing and starts no block. So `retryAfterMs` may be shorter
   * than that of `consume`. Throws the same errors as `consume`.
   */
  peek(rule: RateLimitRule | string, subject: string, options?: CallOptions): Promise<RateLimitDecision>;
  peek(first: First, subject?: string, options: CallOptions = NO_OPTIONS): Promise<RateLimitDecision> {
    return this.decide(first, subject, options, false);
  }

  /**
   * Refunds the hits that were counted for a decision of this service or of RateLimitGuard. Hits that have expired are not refunded. Hits
   * of a fixed window are not refunded if two round trips to Redis take as long as the window, because it is then unknown which window has
   * them. Only the first call for a decision refunds anything, even if that call fails or names only some of the rules.
   *
   * @param rules names of the rules to refund. Default: all rules of the decision
   * @returns number of refunded hits
   * @throws the errors of ScriptRegistry.run()
   *
   * @example
   * ```ts
   * const decision = await limits.consume('uploads', userId);
   * if (decision.allowed && !(await upload())) await limits.refund(decision); // a failed upload does not count
   * ```
   */
  async refund(decision: RateLimitDecision, rules?: readonly string[]): Promise<number> {
    return this.limiter.refund(decision, rules && ((check: Check): boolean => rules.includes(check.rule.name)));
  }

  /**
   * Resets a subject under a rule: deletes its counter and its block, and forgets its earlier blocks, so that the next block is short
   * again.
   *
   * @returns true if Redis had any data of the subject under this rule
   * @throws InvalidInputError, InvalidOptionError as `consume` does; the errors of ScriptRegistry.run()
   */
  async reset(rule: RateLimitRule | string, subject: string): Promise<boolean> {
    return this.limiter.reset(this.ruleOf(rule), checkSubject(subject));
  }

  /**
   * Blocks a subject under a rule for `blockMs` from now, and deletes its counter.
   *
   * @param blockMs length of the block, ms; integer from 1 to 400 days
   * @throws InvalidInputError, InvalidOptionError as `consume` does; the errors of ScriptRegistry.run()
   */
  async block(rule: RateLimitRule | string, subject: string, blockMs: number): Promise<void> {
    const checkedMs = input.integer('blockMs', blockMs, 1, MAX_DURATION_MS);
    await this.limiter.block(this.ruleOf(rule), checkSubject(subject), checkedMs);
  }

  /** Returns functions for `luanest/console`. */
  [CONSOLE](): RateLimitConsole {
    const { limiter } = this;
    return {
      registry: limiter.registry as ScriptRegistry | undefined,
      rules: () => [...this.known.values()],
      refusals: (rule) => limiter.refusals.of(rule),
      look: async (rules, subject) => {
        const checks = rules.map((rule) => new Check(rule, checkSubject(subject), limitOf(rule), 0));
        const looks: SubjectLook[] = [];
        for (let at = 0; at < checks.length; at += LOOK_RULES) {
          for (const verdict of await limiter.look(checks.slice(at, at + LOOK_RULES))) looks.push(lookOf(verdict));
        }
        return looks;
      },
      blockOf,
      reset: (rule, subject) => limiter.reset(rule, checkSubject(subject)),
      block: (rule, subject, blockMs) =>
        limiter.block(rule, checkSubject(subject), input.integer('blockMs', blockMs, 1, MAX_DURATION_MS)),
    };
  }

  // An async method would create one more promise per call. For an invalid argument, the returned promise still rejects.
  private decide(
    first: First,
    subject: string | undefined,
    options: CallOptions,
    charge: boolean,
  ): Promise<RateLimitDecision> {
    try {
      if (!Array.isArray(first)) {
        return this.limiter.decide([this.checkOf(first as RateLimitRule | string, subject, options)], charge);
      }
      const checks = first as readonly RateLimitCheck[];
      return this.limiter.decide(isChecked(checks) ? checks : this.checksOf(checks), charge);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  private checksOf(checks: readonly RateLimitCheck[]): Check[] {
    const resolved = checks.map((check) => this.checkOf(check.rule, check.subject, check));
    for (const [i, { rule, subject }] of resolved.entries()) {
      if (resolved.findIndex((other) => other.rule.name === rule.name && other.subject === subject) === i) continue;
      throw input.error(
        `Two checks of this call have a rule named ${shown(rule.name)} and the same subject. Pass one check with the sum of both costs, or rename one rule.`,
      );
    }
    return resolved;
  }

  private checkOf(given: RateLimitRule | string, subject: string | undefined, { cost, limit }: CallOptions): Check {
    const rule = (typeof given === 'string' ? undefined : this.resolved.get(given)) ?? this.ruleOf(given);
    return new Check(
      rule,
      typeof subject === 'string' && subject !== '' ? subject : checkSubject(subject),
      limit === undefined && typeof rule.limit === 'number' ? rule.limit : numberOf(rule, 'limit', limit),
      cost === undefined && typeof rule.cost === 'number' ? rule.cost : numberOf(rule, 'cost', cost),
    );
  }

  private ruleOf(rule: RateLimitRule | string): NamedRule {
    if (typeof rule !== 'string') return this.resolved.get(rule) ?? this.resolve(rule);
    const found = this.byName.get(rule);
    if (found) return found;
    const names = [...this.byName.keys()].join(', ') || 'none';
    throw input.error(
      `RateLimitModule has no rule named ${shown(rule)}. Its rules: ${names}. Correct the name, or add the rule to the option rules.`,
    );
  }

  private resolve(rule: RateLimitRule): NamedRule {
    const checked = resolveRule(rule);
    if (checked.name === undefined)
      throw input.error('The rule has no name. Set the option `name` of the rule: its keys in Redis contain the name.');
    const resolved = named(checked, checked.name);
    this.resolved.set(rule, resolved);
    if (this.known.size < MAX_KNOWN) this.known.set(memoryId(resolved, '-'), resolved);
    return resolved;
  }
}

const input = new Checks('RateLimitService', (message) => new InvalidInputError(message));

/** Returns true if RateLimitGuard has made the checks. It has validated them, so they are not validated again. */
function isChecked(checks: readonly unknown[]): checks is readonly Check[] {
  return checks[0] instanceof Check;
}

function checkSubject(subject: string | undefined): string {
  if (typeof subject === 'string' && subject !== '') return subject;
  return input.refuse('subject', subject, 'text of at least 1 character');
}

/** Returns a limit or a cost that was passed to a call. @throws InvalidInputError if the value is missing or invalid */
function numberOf(rule: NamedRule, option: 'limit' | 'cost', given: number | undefined): number {
  if (given !== undefined)
    return input.integer(option, given, 0, option === 'cost' ? MAX_HITS : mostHits(rule.algorithm));
  throw input.error(
    `The ${option} of rule ${shown(rule.name)} is a function of the request, and this call has no request. Pass the ${option} ` +
      'as an option of this call.',
  );
}

/** Returns the limit of a rule. If the limit is a function, which needs a request, returns the highest possible limit. */
function limitOf({ limit, algorithm }: NamedRule): number {
  return typeof limit === 'number' ? limit : mostHits(algorithm);
}

function lookOf({ check, verdict, used, resetMs, retryMs, at }: Verdict): SubjectLook {
  const { rule } = check;
  const blocked = verdict === 2;
  const left = typeof rule.limit === 'number' ? Math.max(0, capacityOf(check) - used) : undefined;
  const leftMs = blocked ? retryMs : resetMs;
  const endsAtMs = leftMs > 0 ? Math.floor((at as number) / 1_000) + leftMs : 0;
  return { rule, used, remaining: blocked ? 0 : left, blocked, endsAtMs };
}
