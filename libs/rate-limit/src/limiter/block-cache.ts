import { memoryId } from './keys';
import type { Check, Verdict } from './limiter.port';

/** A refusal that still holds. */
interface Refusal {
  readonly limit: number;
  readonly cost: number;
  readonly verdict: Verdict;
  /** When it was asked for, by the clock of this process, ms. */
  readonly since: number;
  readonly until: number;
}

/** Remembers refusals until their subject may try again, so that Redis is not asked meanwhile. */
export class BlockCache {
  private readonly refusals = new Map<string, Refusal>();

  /**
   * @param maxSubjects refusals that are kept; the oldest goes first
   * @param maxMs longest time that one is trusted, ms: what a reset elsewhere may lag behind
   * @param now monotonic clock, ms
   */
  constructor(
    private readonly maxSubjects: number,
    private readonly maxMs: number,
    private readonly now: () => number,
  ) {}

  get size(): number {
    return this.refusals.size;
  }

  /** What a remembered refusal says of a check, with the times that are left now. */
  find(check: Check): Verdict | undefined {
    const id = memoryId(check.rule, check.subject);
    const refusal = this.refusals.get(id);
    if (refusal === undefined) return undefined;
    const now = this.now();
    if (now >= refusal.until) {
      this.refusals.delete(id);
      return undefined;
    }
    // A smaller cost or a higher limit may pass, so Redis must say.
    if (check.cost < refusal.cost || check.limit > refusal.limit) return undefined;
    const passed = Math.floor(now - refusal.since);
    const { verdict } = refusal;
    const retryMs = Math.max(1, verdict.retryMs - passed);
    return { ...verdict, resetMs: Math.max(0, verdict.resetMs - passed), retryMs, nextMs: retryMs };
  }

  /** Remembers a refusal. @param since when Redis was asked, by `now` */
  remember(check: Check, verdict: Verdict, since: number): void {
    const until = since + Math.min(verdict.retryMs, this.maxMs);
    if (this.maxSubjects === 0 || until <= this.now()) return;
    const id = memoryId(check.rule, check.subject);
    this.refusals.delete(id);
    this.refusals.set(id, { limit: check.limit, cost: check.cost, verdict, since, until });
    if (this.refusals.size <= this.maxSubjects) return;
    for (const oldest of this.refusals.keys()) {
      this.refusals.delete(oldest);
      return;
    }
  }

  /** Forgets what is remembered of a subject under a rule. */
  forget(check: Pick<Check, 'rule' | 'subject'>): void {
    this.refusals.delete(memoryId(check.rule, check.subject));
  }
}
