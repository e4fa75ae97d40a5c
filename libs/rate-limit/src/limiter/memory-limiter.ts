import type { NamedRule } from '../rules/rule';
import { memoryId } from './keys';
import { ALGORITHMS, type Look, type Question, type State } from './algorithms';
import {
  capacityOf,
  enforced,
  type ChargedHits,
  type Check,
  type Limiter,
  type Verdict,
  type Verdicts,
} from './limiter.port';

/** What is kept of one rule and subject. */
interface Entry {
  state: State | undefined;
  blockedUntilMs: number;
  strikes: number;
  strikesUntilMs: number;
}

interface Judged {
  readonly check: Check;
  readonly entry: Entry;
  readonly look: Look;
  readonly verdict: Verdict;
}

/** Counts in this process: the model that the scripts are tested against, and the stand-in while Redis is away. */
export class MemoryLimiter implements Limiter {
  private readonly entries = new Map<string, Entry>();

  /**
   * @param nowUs the clock, us
   * @param maxSubjects entries that are kept; the one touched longest ago goes first
   */
  constructor(
    private readonly nowUs: () => number,
    private readonly maxSubjects: number,
  ) {}

  /** Entries that are kept now. */
  get size(): number {
    return this.entries.size;
  }

  consume(checks: readonly Check[], charge: boolean): Promise<Verdicts> {
    return Promise.resolve(this.decide(checks, charge));
  }

  recover(): undefined {
    return undefined;
  }

  /** As `consume`, at once. */
  decide(checks: readonly Check[], charge: boolean): Verdicts {
    const atUs = this.nowUs();
    const judged = checks.map((check) => this.judge(check, charge, atUs));
    const allowed = judged.every(({ check, verdict }) => verdict.verdict === 0 || !enforced(check));
    const rules = judged.map(({ check, entry, look, verdict }) => {
      if (!charge || !allowed || verdict.verdict !== 0 || check.cost === 0) return verdict;
      const { state, ...times } = look.charge();
      entry.state = state;
      return { ...verdict, used: rounded(look.used + check.cost), ...times };
    });
    return { allowed, rules };
  }

  refund(charged: readonly ChargedHits[]): Promise<number[]> {
    const nowUs = this.nowUs();
    const given = charged.map(({ check, chargedUs }) => {
      const entry = this.entries.get(memoryId(check.rule, check.subject));
      if (entry === undefined) return 0;
      const answer = ALGORITHMS[check.rule.algorithm].refund(entry.state, questionOf(check, nowUs), chargedUs);
      entry.state = answer.state;
      return answer.given;
    });
    return Promise.resolve(given);
  }

  reset(rule: NamedRule, subject: string): Promise<boolean> {
    return Promise.resolve(this.entries.delete(memoryId(rule, subject)));
  }

  block(rule: NamedRule, subject: string, blockMs: number): Promise<void> {
    const entry = this.entryOf(rule, subject);
    entry.state = undefined;
    entry.blockedUntilMs = Math.floor(this.nowUs() / 1_000) + blockMs;
    entry.strikesUntilMs = entry.blockedUntilMs + (rule.blockEscalation?.memoryMs ?? 0);
    return Promise.resolve();
  }

  /** Forgets everything. */
  clear(): void {
    this.entries.clear();
  }

  private judge(check: Check, charge: boolean, atUs: number): Judged {
    const { rule, subject, cost } = check;
    const nowMs = Math.floor(atUs / 1_000);
    const entry = this.entryOf(rule, subject);
    const question = questionOf(check, atUs);
    const look = ALGORITHMS[rule.algorithm].look(entry.state, question);
    const over = look.used + cost > question.capacity + 1e-9;
    let retryMs = !over ? 0 : cost > question.capacity ? rule.windowMs : look.retryMs;
    if (over && charge && !rule.shadow && rule.blockMs > 0 && entry.blockedUntilMs <= nowMs) {
      punish(entry, rule, nowMs);
      if (rule.freshAfterBlock) entry.state = undefined;
    }
    const blockedMs = Math.max(0, entry.blockedUntilMs - nowMs);
    // What follows the block is a fresh window.
    const fresh = blockedMs > 0 && rule.freshAfterBlock === true;
    retryMs = Math.max(fresh ? 0 : retryMs, blockedMs);
    const verdict = {
      verdict: blockedMs > 0 ? 2 : over ? 1 : 0,
      used: rounded(look.used),
      resetMs: Math.max(fresh ? 0 : look.resetMs, blockedMs),
      retryMs,
      nextMs: retryMs > 0 ? retryMs : look.nextMs,
      atUs,
    };
    return { check, entry, look, verdict };
  }

  /** The entry, now the one touched last. */
  private entryOf(rule: NamedRule, subject: string): Entry {
    const id = memoryId(rule, subject);
    const entry = this.entries.get(id) ?? { state: undefined, blockedUntilMs: 0, strikes: 0, strikesUntilMs: 0 };
    this.entries.delete(id);
    this.entries.set(id, entry);
    if (this.entries.size > this.maxSubjects) {
      for (const oldest of this.entries.keys()) {
        this.entries.delete(oldest);
        break;
      }
    }
    return entry;
  }
}

function punish(entry: Entry, { blockMs, blockEscalation }: NamedRule, nowMs: number): void {
  const { factor = 1, maxMs = blockMs, memoryMs = 0 } = blockEscalation ?? {};
  if (entry.strikesUntilMs <= nowMs) entry.strikes = 0;
  entry.blockedUntilMs = nowMs + Math.min(maxMs, blockMs * factor ** entry.strikes);
  entry.strikes += 1;
  entry.strikesUntilMs = entry.blockedUntilMs + memoryMs;
}

function questionOf(check: Check, nowUs: number): Question {
  const { rule, limit, cost } = check;
  return { limit, windowMs: rule.windowMs, cost, capacity: capacityOf(check), nowUs };
}

function rounded(used: number): number {
  // Without `max`, nothing would be -0.
  return Math.max(0, Math.ceil(used - 1e-9));
}
