import type { NamedRule } from '../rules/rule';
import {
  blockMemoryMs,
  capacityOf,
  chargeOf,
  type Check,
  type Limiter,
  memoryId,
  refuses,
  type Verdict,
} from './decision';
import { ALGORITHMS, type AlgorithmInput, type Look, type State } from './algorithms';

/** Counter and block of one subject (the counted client or user) under one rule. `strikes`: blocks that make the next one longer. */
interface Entry {
  state: State | undefined;
  blockedUntilMs: number;
  strikes: number;
  strikesUntilMs: number;
}

interface Judged {
  readonly entry: Entry;
  readonly look: Look;
  readonly verdict: Verdict;
}

/** Counts hits in the memory of this process, for `onRedisError: 'local'`. Tests compare its decisions with those of the Lua scripts. */
export class MemoryLimiter implements Limiter {
  private readonly entries = new Map<string, Entry>();

  /**
   * @param nowUs clock, us since 1970
   * @param maxSubjects maximum number of entries (pairs of rule and subject); the least recently used is evicted first
   */
  constructor(
    private readonly nowUs: () => number,
    private readonly maxSubjects: number,
  ) {}

  get size(): number {
    return this.entries.size;
  }

  consume(checks: readonly Check[], charge: boolean): Promise<readonly Verdict[]> {
    return Promise.resolve(this.decide(checks, charge));
  }

  /** Decides like `consume`, but synchronously. */
  decide(checks: readonly Check[], charge: boolean): readonly Verdict[] {
    const atUs = this.nowUs();
    const judged = checks.map((check) => this.judge(check, charge, atUs));
    const refused = judged.some(({ verdict }) => refuses(verdict));
    return judged.map(({ entry, look, verdict }) => {
      const { cost } = verdict.check;
      if (!charge || refused || verdict.verdict !== 0 || cost === 0) return verdict;
      const { state, ...times } = look.charge();
      entry.state = state;
      return { ...verdict, used: rounded(look.used + cost), ...times };
    });
  }

  refund(charged: readonly Verdict[]): Promise<number[]> {
    const nowUs = this.nowUs();
    const given = charged.map((hits) => {
      const { check } = hits;
      const entry = this.entries.get(memoryId(check.rule, check.subject));
      const charge = chargeOf(hits);
      if (entry === undefined || charge === undefined) return 0;
      const refunded = ALGORITHMS[check.rule.algorithm].refund(entry.state, inputOf(check, nowUs), charge);
      entry.state = refunded.state;
      return refunded.given;
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
    entry.strikesUntilMs = entry.blockedUntilMs + blockMemoryMs(rule);
    return Promise.resolve();
  }

  private judge(check: Check, charge: boolean, atUs: number): Judged {
    const { rule, subject, cost } = check;
    const nowMs = Math.floor(atUs / 1_000);
    const entry = this.entryOf(rule, subject);
    const input = inputOf(check, atUs);
    const look = ALGORITHMS[rule.algorithm].look(entry.state, input);
    const over = look.used + cost > input.capacity + 1e-9;
    let retryMs = !over ? 0 : cost > input.capacity ? rule.windowMs : look.retryMs;
    if (over && charge && !rule.shadow && rule.blockMs > 0 && entry.blockedUntilMs <= nowMs) {
      addStrike(entry, rule, nowMs);
      if (rule.freshAfterBlock) entry.state = undefined;
    }
    const blockedMs = Math.max(0, entry.blockedUntilMs - nowMs);
    // With `freshAfterBlock`, a new window begins after the block, so until then only the block matters.
    const fresh = blockedMs > 0 && rule.freshAfterBlock === true;
    retryMs = Math.max(fresh ? 0 : retryMs, blockedMs);
    const verdict = {
      check,
      verdict: blockedMs > 0 ? 2 : over ? 1 : 0,
      used: rounded(look.used),
      resetMs: Math.max(fresh ? 0 : look.resetMs, blockedMs),
      retryMs,
      nextMs: retryMs > 0 ? retryMs : look.nextMs,
      at: atUs,
    };
    return { entry, look, verdict };
  }

  /** Returns the counter of a rule and a subject, and creates it if necessary. It becomes the most recently used one. */
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

function addStrike(entry: Entry, rule: NamedRule, nowMs: number): void {
  if (entry.strikesUntilMs <= nowMs) entry.strikes = 0;
  entry.blockedUntilMs = nowMs + Math.min(rule.maxBlockMs, rule.blockMs * 2 ** entry.strikes);
  entry.strikes += 1;
  entry.strikesUntilMs = entry.blockedUntilMs + blockMemoryMs(rule);
}

function inputOf(check: Check, nowUs: number): AlgorithmInput {
  const { rule, limit, cost } = check;
  return { limit, windowMs: rule.windowMs, cost, capacity: capacityOf(check), nowUs };
}

function rounded(used: number): number {
  // Math.max makes 0 of the -0 that Math.ceil returns for -1e-9.
  return Math.max(0, Math.ceil(used - 1e-9));
}
