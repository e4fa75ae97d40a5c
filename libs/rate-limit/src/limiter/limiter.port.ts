import type { NamedRule } from '../rules/rule';

/** One rule as one request meets it, with every figure known. */
export interface Check {
  readonly rule: NamedRule;
  /** Who is counted; any text. */
  readonly subject: string;
  /** Hits that pass in a window, at least 0. */
  readonly limit: number;
  /** Hits of this request, at least 0. */
  readonly cost: number;
}

/** What one rule says of a request. */
export interface Verdict {
  /** 0 passes, 1 over the limit, 2 blocked. */
  readonly verdict: number;
  /** Hits that count, this request's own if it was charged. */
  readonly used: number;
  /** Until no hit counts any more, ms. */
  readonly resetMs: number;
  /** Until this request's cost may pass, ms; 0 if it passes now. Finite also where it never passes: see `neverPasses`. */
  readonly retryMs: number;
  /** Until one more hit passes than now, ms; 0 if no hit counts; of a refusal `retryMs`. */
  readonly nextMs: number;
  /** The deciding clock's time, us. */
  readonly atUs: number;
}

/** What a limiter answers for a request. */
export interface Verdicts {
  /** Whether no rule that is enforced refuses. */
  readonly allowed: boolean;
  /** One per check, in their order. */
  readonly rules: readonly Verdict[];
}

/** Hits that were charged, so that they can be given back. */
export interface ChargedHits {
  readonly check: Check;
  /** `atUs` of the verdict that charged them. */
  readonly chargedUs: number;
}

/** How long a decision may take, in all that it asks. */
export interface Budget {
  /** When it began, by the process's monotonic clock, ms. */
  readonly since: number;
  readonly deadlineMs: number;
}

/** What counts hits: Redis, or this process where Redis is not asked. */
export interface Limiter {
  /** Charges every check, or none when one refuses; with `charge` false it only looks. */
  consume(checks: readonly Check[], charge: boolean, budget: Budget): Promise<Verdicts>;
  /** Another way to the answer where `consume` rejected with this error before anything was charged; undefined for none. */
  recover(error: unknown, checks: readonly Check[], charge: boolean, budget: Budget): Promise<Verdicts> | undefined;
  /** Gives hits back as far as they still count; answers how many, in the order given. */
  refund(charged: readonly ChargedHits[], deadlineMs: number): Promise<number[]>;
  /** Forgets a subject; answers whether anything was known of it. */
  reset(rule: NamedRule, subject: string, deadlineMs: number): Promise<boolean>;
  /** Refuses a subject for a time, whatever it has used, and forgets what it has. */
  block(rule: NamedRule, subject: string, blockMs: number, deadlineMs: number): Promise<void>;
}

/** Hits that a rule takes at once. */
export function capacityOf({ rule, limit }: Check): number {
  return limit === 0 ? 0 : (rule.burst ?? limit);
}

/** Returns true if a request costs more than its rule ever takes at once, so that waiting does not help. */
export function neverPasses(check: Check): boolean {
  return check.cost > capacityOf(check);
}

/** Returns true if a rule may refuse. */
export function enforced(check: Check): boolean {
  return !check.rule.shadow;
}
