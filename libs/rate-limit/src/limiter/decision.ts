import type { RateLimitDecision, RateLimitRuleDecision } from '../rate-limit.types';
import { capacityOf, enforced, type ChargedHits, type Check, type Verdict, type Verdicts } from './limiter';

/** A decision that knows what it charged, so that it can be given back once. */
export class Decision implements RateLimitDecision {
  readonly allowed: boolean;
  readonly reason: RateLimitDecision['reason'];
  readonly retryAfterMs: number;
  readonly rules: readonly RateLimitRuleDecision[];
  #charged: readonly Check[] | undefined;
  readonly #verdicts: readonly Verdict[];

  /**
   * @param checks in the order of the verdicts
   * @param charged whether what passed was charged
   */
  constructor(
    readonly source: RateLimitDecision['source'],
    checks: readonly Check[],
    { allowed, rules }: Verdicts,
    charged: boolean,
    denied = false,
  ) {
    this.allowed = allowed && !denied;
    this.rules = rules.map((verdict, i) => ruleDecision(checks[i] as Check, verdict));
    let [retryMs, blocked] = [0, false];
    if (!allowed) {
      for (const [i, { verdict, retryMs: ruleMs }] of rules.entries()) {
        if (verdict === 0 || !enforced(checks[i] as Check)) continue;
        retryMs = Math.max(retryMs, ruleMs);
        blocked ||= verdict === 2;
      }
    }
    this.retryAfterMs = retryMs;
    this.reason = denied ? 'redis-error' : allowed ? undefined : blocked ? 'blocked' : 'over-limit';
    this.#charged = charged && this.allowed ? checks : undefined;
    this.#verdicts = rules;
  }

  /** Where no rule was asked, or the answer is the policy's. */
  static without(source: 'policy' | 'none', allowed: boolean): Decision {
    return new Decision(source, [], { allowed: true, rules: [] }, false, !allowed);
  }

  /** Takes what was charged, once. @param wanted which of the rules; default all */
  static takeCharged(decision: RateLimitDecision, wanted: (check: Check) => boolean = () => true): ChargedHits[] {
    if (!(decision instanceof Decision) || decision.#charged === undefined) return [];
    const checks = decision.#charged;
    decision.#charged = undefined;
    return checks.flatMap((check, i) => {
      const verdict = decision.#verdicts[i];
      const charged = verdict?.verdict === 0 && check.cost > 0 && wanted(check);
      return charged ? [{ check, chargedUs: verdict.atUs }] : [];
    });
  }
}

function ruleDecision(check: Check, { verdict, used, resetMs, retryMs }: Verdict): RateLimitRuleDecision {
  const { rule, limit, cost } = check;
  return {
    name: rule.name,
    algorithm: rule.algorithm,
    allowed: verdict === 0,
    blocked: verdict === 2,
    shadow: rule.shadow,
    limit,
    windowMs: rule.windowMs,
    cost,
    used,
    remaining: verdict === 2 ? 0 : Math.max(0, capacityOf(check) - used),
    resetMs,
    retryAfterMs: retryMs,
  };
}
