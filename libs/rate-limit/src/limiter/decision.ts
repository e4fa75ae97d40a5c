import { createHash } from 'node:crypto';
import type { RateLimitDecision, RateLimitPolicy, RateLimitRuleDecision } from '../rate-limit.types';
import type { NamedRule } from '../rules/rule';

/**
 * One rule that applies to one request. The functions of the rule were called already, so `limit` and `cost` are numbers.
 * RateLimitService trusts objects of this class, and does not check their fields again.
 */
export class Check {
  /**
   * @param subject the client, user or other party that is counted; any text
   * @param limit number of hits that are allowed in a window, at least 0
   * @param cost number of hits that this request counts as, at least 0
   */
  constructor(
    readonly rule: NamedRule,
    readonly subject: string,
    readonly limit: number,
    readonly cost: number,
  ) {}
}

const MAX_PLAIN_SUBJECT = 128;
const HASHED = 'sha256-';

/**
 * Returns the part of a Redis key that identifies a subject (the counted client or user). This is the subject itself, or its hash
 * if the subject is empty, too long or not well-formed Unicode. A subject that looks like a hash is hashed, too, so no two
 * subjects have the same key.
 */
export function subjectPart(subject: string): string {
  if (subject.length <= MAX_PLAIN_SUBJECT && subject !== '' && !subject.startsWith(HASHED) && subject.isWellFormed()) {
    return subject;
  }
  return HASHED + createHash('sha256').update(Buffer.from(subject, 'utf16le')).digest('hex');
}

/**
 * Returns an id for a rule and a subject, for maps in this process. Two rules have the same id for a subject only if they share
 * counters. Long subjects are hashed, so that the id stays short.
 */
export function memoryId({ algorithm, name, windowMs }: NamedRule, subject: string): string {
  return `${algorithm}:${windowMs}:${name.length}:${name}:${subjectPart(subject)}`;
}

/** Span of time in which a call to Redis was made, by this process's monotonic clock, ms. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Outcome of one check. */
export interface Verdict {
  readonly check: Check;
  /** 0 allowed, 1 over the limit, 2 blocked. */
  readonly verdict: number;
  /** Number of hits that count now. If this request was charged, its hits are included. */
  readonly used: number;
  /** Time until all hits have expired and no block is in force, ms. */
  readonly resetMs: number;
  /**
   * Time until the request may be allowed, ms; 0 if it is allowed now. If the cost exceeds the capacity, the request is never
   * allowed, but the number is finite. `neverPasses` returns true in this case.
   */
  readonly retryMs: number;
  /** Time until the number of allowed hits rises, ms; 0 if no hit counts. If this check refuses, the same as `retryMs`. */
  readonly nextMs: number;
  /**
   * Time of the decision by the clock of the limiter (Redis or this process), us since 1970. A Span if the script did not read
   * the clock.
   */
  readonly at: number | Span;
}

/** Time limit of one decision, for all of its calls to Redis together. */
export interface Budget {
  /** Time at which the decision began, by the monotonic clock of the limiter, ms. */
  readonly calledAtMs: number;
  /** When the decision began, by `performance.now()`, ms. ScriptRegistry counts the deadline of each call from this time. */
  readonly startedAtMs: number;
  /** Longest duration from `startedAtMs`, ms. */
  readonly deadlineMs: number;
}

/** Counts hits, in Redis or in this process. */
export interface Limiter {
  /** ScriptRegistry of the app; undefined for counters of this process. */
  readonly registry?: object;
  /**
   * Decides all checks of a request. Charges the request (adds its cost to the counter) under each rule that allows it. If a rule
   * other than a shadow rule refuses, charges nothing, or tries to refund what was charged. If `charge` is false, charges
   * nothing. Returns the verdicts in the order of the checks.
   */
  consume(checks: readonly Check[], charge: boolean, budget: Budget): Promise<readonly Verdict[]>;
  /**
   * Refunds charged hits that have not expired. Returns the number of refunded hits of each verdict, in the order of `charged`.
   */
  refund(charged: readonly Verdict[], deadlineMs: number): Promise<number[]>;
  /**
   * Deletes the counter and the block of a subject, and forgets its earlier blocks. Returns true if there was anything to delete.
   */
  reset(rule: NamedRule, subject: string, deadlineMs: number): Promise<boolean>;
  /** Blocks a subject for `blockMs` from now, and deletes its counter. */
  block(rule: NamedRule, subject: string, blockMs: number, deadlineMs: number): Promise<void>;
}

/**
 * Returns the maximum number of hits that a rule allows at once: `burst` for `token-bucket`, the limit for other algorithms.
 * Returns 0 if the limit is 0.
 */
export function capacityOf({ rule, limit }: Pick<Check, 'rule' | 'limit'>): number {
  return limit === 0 ? 0 : (rule.burst ?? limit);
}

/** Returns true if the cost exceeds the rule's capacity, so that the rule never allows the request. */
export function neverPasses(check: Check): boolean {
  return check.cost > capacityOf(check);
}

/**
 * Returns how long after the end of a block the next block is longer because of it, ms; 0 if all blocks of the rule have the same
 * length.
 */
export function blockMemoryMs({ blockMs, maxBlockMs }: NamedRule): number {
  return maxBlockMs > blockMs ? maxBlockMs : 0;
}

/** Returns true if the rule may refuse a request. A shadow rule only counts. */
export function enforced(check: Check): boolean {
  return !check.rule.shadow;
}

/** Returns true if a verdict refuses the request. */
export function refuses({ check, verdict }: Verdict): boolean {
  return verdict > 0 && enforced(check);
}

/** Largest drift that is assumed between the clocks of two machines, ms per ms. */
const DRIFT = 0.001;
/** Largest rounding error of a difference between two times of Redis, ms: each time is a whole number of ms. */
const ROUNDING_MS = 2;

/**
 * Returns the number that identifies charged hits for a refund. For a fixed window this is the end of the window, ms since 1970,
 * because the windows of a subject end at different times. For other algorithms it is the time of the charge, us since 1970.
 * Returns undefined if the script did not read the clock. Use `endOfCharged` in this case.
 */
export function chargeOf({ check, at, resetMs }: Verdict): number | undefined {
  if (typeof at !== 'number') return undefined;
  return check.rule.algorithm === 'fixed-window' ? Math.floor(at / 1_000) + resetMs : at;
}

/**
 * Returns the end of the fixed window that was charged, as a negative number of ms since 1970; undefined if that window has ended
 * or cannot be identified. The minus sign shows refund.lua that the end was found by reading the present window.
 *
 * This process has measured when the charge and the later reading of the present window began and ended. So it knows the time
 * between the two, except for the duration of the two round trips. From this it computes how much time the charged window must
 * have left at the reading. A later window of the subject ends at least `windowMs` later. If the round trips took that long, the
 * two windows cannot be distinguished, and the result is undefined.
 *
 * @param present verdict of a peek, which has read the present window
 * @param reading span of time in which `present` was read
 */
export function endOfCharged(charged: Verdict, present: Verdict, reading: Span): number | undefined {
  const charging = charged.at as Span;
  const [least, most] = [reading.fromMs - charging.toMs, reading.toMs - charging.fromMs];
  const slackMs = ROUNDING_MS + most * DRIFT;
  const [fewestMs, mostMs] = [charged.resetMs - most - slackMs, charged.resetMs - least + slackMs];
  if (mostMs - fewestMs >= charged.check.rule.windowMs) return undefined;
  const leftMs = present.verdict === 2 || present.used === 0 ? -1 : present.resetMs;
  if (leftMs < Math.max(0, fewestMs) || leftMs > mostMs) return undefined;
  return -(Math.floor((present.at as number) / 1_000) + leftMs);
}

/** A decision that remembers which hits it charged, so that these hits can be refunded once. */
export class Decision implements RateLimitDecision {
  readonly allowed: boolean;
  readonly reason: RateLimitDecision['reason'];
  readonly retryAfterMs: number;
  readonly #verdicts: readonly Verdict[];
  #charged: boolean;
  #rules: readonly RateLimitRuleDecision[] | undefined;

  /**
   * @param charged false for a peek; otherwise true, even if the request is refused
   * @param denied true if the policy `deny` refuses the request, whatever the verdicts are
   * @param requested all checks of the request. Default: those of the verdicts
   */
  constructor(
    readonly source: RateLimitDecision['source'],
    verdicts: readonly Verdict[],
    charged: boolean,
    denied = false,
    private readonly requested?: readonly Check[],
  ) {
    const allowed = !verdicts.some(refuses);
    this.#verdicts = verdicts;
    this.allowed = allowed && !denied;
    this.#charged = charged && this.allowed;
    this.retryAfterMs = allowed ? 0 : longestRetry(verdicts);
    this.reason = denied ? 'redis-error' : allowed ? undefined : reasonOf(verdicts);
  }

  /** One decision per verdict. They are made at the first access, because many callers read only `allowed`. */
  get rules(): readonly RateLimitRuleDecision[] {
    return (this.#rules ??= this.#verdicts.map(ruleDecision));
  }

  get policies(): readonly RateLimitPolicy[] {
    if (this.requested === undefined) return this.rules.filter(({ shadow }) => !shadow);
    return this.requested.filter(enforced).map((check) => {
      const { rule, limit } = check;
      return { name: rule.name, limit, windowMs: rule.windowMs, capacity: capacityOf(check) };
    });
  }

  /** Returns a plain object for JSON.stringify, which does not see the getters of this class. */
  toJSON(): RateLimitDecision {
    const { allowed, source, reason, retryAfterMs, rules, policies } = this;
    return { allowed, source, reason, retryAfterMs, rules, policies };
  }

  /** Makes a decision without verdicts, for a request without rules or for the policy `allow` or `deny`. */
  static without(source: 'policy' | 'none', allowed: boolean): Decision {
    return new Decision(source, [], false, !allowed);
  }

  /**
   * Returns the verdicts whose hits a decision has charged, so that these hits can be refunded. A second call returns an empty
   * array.
   *
   * @param wanted selects checks. Default: all
   */
  static takeCharged(decision: RateLimitDecision, wanted: (check: Check) => boolean = () => true): readonly Verdict[] {
    if (!(decision instanceof Decision) || !decision.#charged) return [];
    decision.#charged = false;
    return decision.#verdicts.filter(({ check, verdict }) => verdict === 0 && check.cost > 0 && wanted(check));
  }
}

function longestRetry(verdicts: readonly Verdict[]): number {
  let most = 0;
  for (const verdict of verdicts) {
    if (refuses(verdict)) most = Math.max(most, neverPasses(verdict.check) ? Infinity : verdict.retryMs);
  }
  return most;
}

function reasonOf(verdicts: readonly Verdict[]): RateLimitDecision['reason'] {
  if (longestRetry(verdicts) === Infinity) return 'cost-over-limit';
  return verdicts.some((each) => each.verdict === 2 && refuses(each)) ? 'blocked' : 'over-limit';
}

function ruleDecision({ check, verdict, used, resetMs, retryMs, nextMs }: Verdict): RateLimitRuleDecision {
  const { rule, limit, cost } = check;
  const never = verdict > 0 && neverPasses(check);
  return {
    name: rule.name,
    algorithm: rule.algorithm,
    allowed: verdict === 0,
    blocked: verdict === 2,
    shadow: rule.shadow,
    limit,
    windowMs: rule.windowMs,
    capacity: capacityOf(check),
    cost,
    used,
    remaining: verdict === 2 ? 0 : Math.max(0, capacityOf(check) - used),
    resetMs,
    nextMs: never ? Infinity : nextMs,
    retryAfterMs: never ? Infinity : retryMs,
  };
}
