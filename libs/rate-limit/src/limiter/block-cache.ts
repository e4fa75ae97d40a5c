import { memoryId } from './keys';
import type { Check, Verdict } from './limiter.port';

/** A cached refusal. */
interface Refusal {
  readonly limit: number;
  readonly cost: number;
  readonly verdict: Verdict;
  /** Start of the call that was refused, by the monotonic clock, ms. */
  readonly calledAtMs: number;
  /** Instant from which the refusal is no longer used, by the monotonic clock, ms. */
  readonly expiresAtMs: number;
}

/** Caches refusals until their subject may try again, so that Redis is not called in the meantime. */
export class BlockCache {
  private readonly refusals = new Map<string, Refusal>();

  /**
   * @param maxRefusals refusals that are kept, at least 1; the oldest is evicted first
   * @param maxMs longest time that a refusal is used, ms: how late this process notices a reset by another process
   * @param now monotonic clock, ms
   */
  constructor(
    private readonly maxRefusals: number,
    private readonly maxMs: number,
    private readonly now: () => number,
  ) {}

  /** Number of refusals that are kept. */
  get size(): number {
    return this.refusals.size;
  }

  /** Returns the cached refusal that applies to a check, with its remaining times; undefined if there is none. */
  find(check: Check): Verdict | undefined {
    const id = memoryId(check.rule, check.subject);
    const refusal = this.refusals.get(id);
    if (refusal === undefined) return undefined;
    const now = this.now();
    if (now >= refusal.expiresAtMs) {
      this.refusals.delete(id);
      return undefined;
    }
    // A smaller cost or a higher limit may be allowed, so Redis must decide.
    if (check.cost < refusal.cost || check.limit > refusal.limit) return undefined;
    const passedMs = Math.floor(now - refusal.calledAtMs);
    const { verdict } = refusal;
    const retryMs = Math.max(1, verdict.retryMs - passedMs);
    return { ...verdict, resetMs: Math.max(0, verdict.resetMs - passedMs), retryMs, nextMs: retryMs };
  }

  /** Adds a refusal. @param calledAtMs start of the refused call, by `now` */
  add(check: Check, verdict: Verdict, calledAtMs: number): void {
    const expiresAtMs = calledAtMs + Math.min(verdict.retryMs, this.maxMs);
    if (expiresAtMs <= this.now()) return;
    const id = memoryId(check.rule, check.subject);
    this.refusals.delete(id);
    this.refusals.set(id, { limit: check.limit, cost: check.cost, verdict, calledAtMs, expiresAtMs });
    if (this.refusals.size <= this.maxRefusals) return;
    for (const oldest of this.refusals.keys()) {
      this.refusals.delete(oldest);
      return;
    }
  }

  /** Removes the refusal of a subject under a rule. */
  remove(check: Pick<Check, 'rule' | 'subject'>): void {
    this.refusals.delete(memoryId(check.rule, check.subject));
  }
}
