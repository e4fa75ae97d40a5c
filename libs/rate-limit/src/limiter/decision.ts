import { createHash } from 'node:crypto';
import type { RateLimitDecision, RateLimitPolicy, RateLimitRuleDecision } from '../rate-limit.types';
import type { NamedRule } from '../rules/rule';

/**
 * One rule for one request. The functions of the rule were called already, so `limit` and `cost` are numbers. RateLimitService does not
 * check the fields of this class again.
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
 * Returns a short id for a rule and a subject, for maps in this process. Two rules have the same id for a subject only if they share its
 * counter.
 */
export function memoryId({ algorithm, name, windowMs }: NamedRule, subject: string): string {
  return `${algorithm}:${windowMs}:${name.length}:${name}:${subjectPart(subject)}`;
}

/** Time before and after a call to Redis, by the monotonic clock of this process, ms. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Result of one rule for one request. */
export interface Verdict {
  readonly check: Check;
  /** 0: allowed. 1: over the limit. 2: blocked. */
  readonly verdict: number;
  /** Number of hits that count now, including those of this request if it was counted. */
  readonly used: number;
  /** Time until all hits have expired and no block is in force, ms. */
  readonly resetMs: number;
  /**
   * Time until the request may be allowed, ms; 0 if it is allowed now. A request whose cost exceeds the capacity is never allowed (see
   * `neverPasses`), but even then this number is finite.
   */
  readonly retryMs: number;
  /** Time until more hits are allowed, ms; 0 if no hit counts. The same as `retryMs` for a refusal. */
  readonly nextMs: number;
  /**
   * Time of the decision by the clock of Redis or of this process, us since 1970. If the script did not read the clock, the time before and
   * after the call.
   */
  readonly at: number | Span;
}

/** Time limit of one decision, which may take several calls to Redis. */
export interface Budget {
  /** Start of the decision by the monotonic clock, which tests can replace, ms. */
  readonly calledAtMs: number;
  /** Start of the decision by `performance.now()`, ms, from which ScriptRegistry counts deadlines. */
  readonly startedAtMs: number;
  /** Longest time from the start until the decision, ms. */
  readonly deadlineMs: number;
}

/** Counts hits, in Redis or in this process. */
export interface Limiter {
  /** ScriptRegistry whose Redis has the counters; undefined for counters in this process. */
  readonly registry?: object;
  /**
   * Decides a request under all of its rules, and counts it under each rule that allows it. If a rule other than a
   * shadow rule refuses, counts nothing. On a Cluster, it may count hits first, and then tries to refund them. With `charge` false, counts
   * nothing. Returns the results in the order of `checks`.
   */
  consume(checks: readonly Check[], charge: boolean, budget: Budget): Promise<readonly Verdict[]>;
  /** Takes back counted hits that have not expired. Returns their number for each item of `charged`. */
  refund(charged: readonly Verdict[], deadlineMs: number): Promise<number[]>;
  /** Deletes the counter and the block of a subject, and forgets its earlier blocks. Returns true if there was anything to delete. */
  reset(rule: NamedRule, subject: string, deadlineMs: number): Promise<boolean>;
  /** Blocks a subject for `blockMs` from now, and deletes its counter. */
  block(rule: NamedRule, subject: string, blockMs: number, deadlineMs: number): Promise<void>;
}

/** Returns the maximum number of hits that a rule allows at once: `burst` for `token-bucket`, otherwise the limit; 0 if the limit is 0. */
export function capacityOf({ rule, limit }: Pick<Check, 'rule' | 'limit'>): number {
  return limit === 0 ? 0 : (rule.burst ?? limit);
}

/** Returns true if the cost exceeds the rule's capacity, so that the rule never allows the request. */
export function neverPasses(check: Check): boolean {
  return check.cost > capacityOf(check);
}

/** Returns how long an ended block is remembered, to make the next block longer, ms; 0 if all blocks of the rule have the same length. */
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
 * Returns the number by which a refund finds the counted hits. For a fixed window, this is its end, ms since 1970; for other algorithms,
 * the time of the decision, us since 1970. Undefined if the script did not read the clock; then use `endOfCharged`.
 */
export function chargeOf({ check, at, resetMs }: Verdict): number | undefined {
  if (typeof at !== 'number') return undefined;
  return check.rule.algorithm === 'fixed-window' ? Math.floor(at / 1_000) + resetMs : at;
}

/**
 * Returns the end of the fixed window in which hits were counted, as a negative number of ms since 1970; undefined if that window has ended
 * or cannot be identified. The minus sign shows refund.lua that the end was found by reading the present window.
 *
 * This process knows the time between counting and reading, except for the duration of the two round trips. So it knows how much time the
 * window with the counted hits must have left. A later window has at least `windowMs` more left. If the round trips took as long as a
 * window, these two windows cannot be distinguished.
 *
 * @param present result of reading the present window
 * @param reading time before and after this reading
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

/** A decision that remembers which hits it has counted, so that they can be refunded once. */
export class Decision implements RateLimitDecision {
  readonly allowed: boolean;
  readonly reason: RateLimitDecision['reason'];
  readonly retryAfterMs: number;
  readonly #verdicts: readonly Verdict[];
  #charged: boolean;
  #rules: readonly RateLimitRuleDecision[] | undefined;

  /**
   * @param charged false for a peek; otherwise true, even if the request is refused
   * @param denied true if Redis failed and `onRedisError` refuses the request, whatever the results are
   * @param requested all rules of the request. Default: those with a result
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

  /** Decisions of the rules. They are made at the first access, because many callers only read `allowed`. */
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

  /** JSON.stringify does not see the getters of this class, so this method returns a plain object. */
  toJSON(): RateLimitDecision {
    const { allowed, source, reason, retryAfterMs, rules, policies } = this;
    return { allowed, source, reason, retryAfterMs, rules, policies };
  }

  /** Creates a decision without results: for a request without rules, or if Redis failed and `onRedisError` is `allow` or `deny`. */
  static without(source: 'policy' | 'none', allowed: boolean): Decision {
    return new Decision(source, [], false, !allowed);
  }

  /**
   * Returns the results whose hits a decision has counted, to refund them. A second call returns an empty array.
   *
   * @param wanted selects rules. Default: all
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
