import type { RateLimitDecision, RateLimitPolicy, RateLimitRuleDecision } from '../rate-limit.types';
import {
  capacityOf,
  enforced,
  neverPasses,
  type ChargedHits,
  type Check,
  type Verdict,
  type Verdicts,
} from './limiter.port';

/** A decision that remembers which hits it charged, so that these hits can be refunded once. */
export class Decision implements RateLimitDecision {
  readonly allowed: boolean;
  readonly reason: RateLimitDecision['reason'];
  readonly retryAfterMs: number;
  readonly #checks: readonly Check[];
  readonly #verdicts: readonly Verdict[];
  #charged: boolean;
  #rules: readonly RateLimitRuleDecision[] | undefined;

  /**
   * @param checks evaluated checks, in the order of the verdicts
   * @param charged true if the hits were charged, unless the request is refused; false for a peek
   * @param denied true if the policy `deny` refuses the request, whatever the verdicts are
   * @param requested all checks of the request. Default: the evaluated checks
   */
  constructor(
    readonly source: RateLimitDecision['source'],
    checks: readonly Check[],
    { allowed, rules }: Verdicts,
    charged: boolean,
    denied = false,
    private readonly requested: readonly Check[] = checks,
  ) {
    this.#checks = checks;
    this.#verdicts = rules;
    this.allowed = allowed && !denied;
    this.#charged = charged && this.allowed;
    this.retryAfterMs = allowed ? 0 : longestRetry(checks, rules);
    this.reason = denied ? 'redis-error' : allowed ? undefined : reasonOf(checks, rules);
  }

  /** One decision per verdict. They are made at the first access, because many callers read only `allowed`. */
  get rules(): readonly RateLimitRuleDecision[] {
    return (this.#rules ??= this.#verdicts.map((verdict, i) => ruleDecision(this.#checks[i] as Check, verdict)));
  }

  get policies(): readonly RateLimitPolicy[] {
    if (this.requested === this.#checks) return this.rules.filter(({ shadow }) => !shadow);
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
    return new Decision(source, [], { allowed: true, rules: [] }, false, !allowed);
  }

  /**
   * Returns the hits that a decision charged. A second call returns an empty array.
   *
   * @param wanted selects checks. Default: all
   */
  static takeCharged(decision: RateLimitDecision, wanted: (check: Check) => boolean = () => true): ChargedHits[] {
    if (!(decision instanceof Decision) || !decision.#charged) return [];
    decision.#charged = false;
    return decision.#checks.flatMap((check, i) => {
      const verdict = decision.#verdicts[i];
      const charged = verdict?.verdict === 0 && check.cost > 0 && wanted(check);
      return charged ? [{ check, verdict }] : [];
    });
  }
}

function refuses(check: Check | undefined, { verdict }: Verdict): boolean {
  return verdict > 0 && check !== undefined && enforced(check);
}

function longestRetry(checks: readonly Check[], verdicts: readonly Verdict[]): number {
  let most = 0;
  for (const [i, verdict] of verdicts.entries()) {
    const check = checks[i];
    if (check && refuses(check, verdict)) most = Math.max(most, neverPasses(check) ? Infinity : verdict.retryMs);
  }
  return most;
}

function reasonOf(checks: readonly Check[], verdicts: readonly Verdict[]): RateLimitDecision['reason'] {
  if (longestRetry(checks, verdicts) === Infinity) return 'cost-over-limit';
  const blocked = verdicts.some((each, i) => each.verdict === 2 && refuses(checks[i], each));
  return blocked ? 'blocked' : 'over-limit';
}

function ruleDecision(check: Check, { verdict, used, resetMs, retryMs, nextMs }: Verdict): RateLimitRuleDecision {
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
