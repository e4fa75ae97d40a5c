import { createHash } from 'node:crypto';
import type { RateLimitDecision, RateLimitPolicy, RateLimitRuleDecision } from '../rate-limit.types';
import type { NamedRule } from '../rules/rule';

/**
 * One rule of one request, after the rule's functions were called, so that `limit` and `cost` are numbers. RateLimitService passes
 * checks of this class on without looking at their parts again.
 */
export class Check {
  /**
   * @param subject the client, user or other party that is counted; any text
   * @param limit hits that are allowed in a window, at least 0
   * @param cost hits of this request, at least 0
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
 * Returns the part of a key that stands for a subject (the counted client or user). The part is the subject itself, or its
 * hash if the subject is empty, too long or not well-formed Unicode. A subject that looks like a hash is hashed, too, so no
 * two subjects have the same key.
 */
export function subjectPart(subject: string): string {
  if (subject.length <= MAX_PLAIN_SUBJECT && subject !== '' && !subject.startsWith(HASHED) && subject.isWellFormed()) {
    return subject;
  }
  return HASHED + createHash('sha256').update(Buffer.from(subject, 'utf16le')).digest('hex');
}

/**
 * Returns an id for a rule and a subject, for maps in this process. Only rules that share counters have the same id for a subject.
 * Long subjects are hashed, so that the id stays short.
 */
export function memoryId({ algorithm, name, windowMs }: NamedRule, subject: string): string {
  return `${algorithm}:${windowMs}:${name.length}:${name}:${subjectPart(subject)}`;
}

/** Two readings of this process's monotonic clock, ms: a decision or a reading was made between them. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Outcome of one check. */
export interface Verdict {
  readonly check: Check;
  /** 0 allowed, 1 over the limit, 2 blocked. */
  readonly verdict: number;
  /** Hits that count now, including the hits of this request if they were charged. */
  readonly used: number;
  /** Time until no hit counts any more and no block is in force, ms. */
  readonly resetMs: number;
  /**
   * Time until the request's cost may be allowed, ms; 0 if the request is allowed now. This number is finite even if the cost
   * exceeds the capacity; `neverPasses` returns true then.
   */
  readonly retryMs: number;
  /** Time until the number of allowed hits rises, ms; 0 if no hit counts. If this check refuses, the same as `retryMs`. */
  readonly nextMs: number;
  /** Time of the decision by the clock of the limiter (Redis or this process), us since 1970. A Span if no clock was read. */
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
   * Decides all checks. Charges those that allow the request. If one refuses and its rule is not a shadow rule, charges none, or
   * tries to refund what it has charged. If `charge` is false, only decides. Returns the verdicts in the order of the checks.
   */
  consume(checks: readonly Check[], charge: boolean, budget: Budget): Promise<readonly Verdict[]>;
  /** Refunds the hits of verdicts that charged some, as far as they still count. Returns the refunded hits, in the order of `charged`. */
  refund(charged: readonly Verdict[], deadlineMs: number): Promise<number[]>;
  /** Deletes the counter of a subject, its block and the memory of earlier blocks. Returns true if one of them existed. */
  reset(rule: NamedRule, subject: string, deadlineMs: number): Promise<boolean>;
  /** Blocks a subject for `blockMs` from now, and deletes its counter. */
  block(rule: NamedRule, subject: string, blockMs: number, deadlineMs: number): Promise<void>;
}

/**
 * Returns the most hits that a rule allows at once: the burst of a token bucket, or the limit of another algorithm. Returns 0 if
 * the limit is 0.
 */
export function capacityOf({ rule, limit }: Pick<Check, 'rule' | 'limit'>): number {
  return limit === 0 ? 0 : (rule.burst ?? limit);
}

/** Returns true if the cost exceeds the rule's capacity, so that the rule never allows the request. */
export function neverPasses(check: Check): boolean {
  return check.cost > capacityOf(check);
}

/** Returns how long a rule remembers a block after its end, so that the next one is longer, ms; 0 if its blocks do not grow. */
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
 * Returns the number that identifies charged hits for a refund: for a fixed window its end, ms since 1970, since the windows of a
 * subject end at different times; for other algorithms the time of the charge, us since 1970. Undefined if the limiter read no
 * clock; then `endOfCharged` finds the end of the window.
 */
export function chargeOf({ check, at, resetMs }: Verdict): number | undefined {
  if (typeof at !== 'number') return undefined;
  return check.rule.algorithm === 'fixed-window' ? Math.floor(at / 1_000) + resetMs : at;
}

/**
 * Returns the end of the fixed window that was charged, ms since 1970; undefined if that window has ended or cannot be found.
 * The end is negative, which is how refund.lua knows that it was found by reading.
 *
 * The charge and the reading of the present window were each made between two readings of one clock. So the time between them is
 * known, except for the round trips, and with it the time that the charged window has left at the reading. A later window of the
 * subject has at least `windowMs` more left. If the round trips took as long as that, the windows cannot be distinguished, and the
 * result is undefined.
 *
 * @param present what a peek found in the counter
 * @param reading when `present` was read
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
   * @param charged true if the hits were charged, unless the request is refused; false for a peek
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
   * Returns the verdicts of a decision that charged hits. A second call returns an empty array.
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
