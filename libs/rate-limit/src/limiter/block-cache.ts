import { memoryId } from './keys';
import type { Check, Verdict } from './limiter.port';

interface Refusal {
  readonly limit: number;
  readonly cost: number;
  readonly verdict: Verdict;
  /** Monotonic time at which the refused call began, ms. */
  readonly calledAtMs: number;
  /** Monotonic time from which the refusal is no longer used, ms. */
  readonly expiresAtMs: number;
}

/**
 * Caches refusals of Redis, so that this process can refuse further requests of the same subject (the counted client or user)
 * without a call to Redis.
 */
export class BlockCache {
  private readonly refusals = new Map<string, Refusal>();

  /**
   * @param maxRefusals maximum number of refusals, at least 1; the oldest refusal is evicted first
   * @param maxMs longest time for which a refusal is used, ms. A reset by another process takes effect here after at most this time
   * @param now monotonic clock, ms
   */
  constructor(
    private readonly maxRefusals: number,
    private readonly maxMs: number,
    private readonly now: () => number,
  ) {}

  get size(): number {
    return this.refusals.size;
  }

  /** True until a refusal is added, and again when none is left. A field, since each request reads it. */
  isEmpty = true;

  /**
   * Returns the verdict of a cached refusal that applies to a check, with its times counted from now; undefined without
   * one.
   */
  find(check: Check): Verdict | undefined {
    const id = memoryId(check.rule, check.subject);
    const refusal = this.refusals.get(id);
    if (refusal === undefined) return undefined;
    const now = this.now();
    if (now >= refusal.expiresAtMs) {
      this.delete(id);
      return undefined;
    }
    // The refused request had a higher cost or a lower limit. Redis may allow this one, so Redis must decide.
    if (check.cost < refusal.cost || check.limit > refusal.limit) return undefined;
    const passedMs = Math.floor(now - refusal.calledAtMs);
    const { verdict } = refusal;
    const retryMs = Math.max(1, verdict.retryMs - passedMs);
    return { ...verdict, resetMs: Math.max(0, verdict.resetMs - passedMs), retryMs, nextMs: retryMs };
  }

  /** @param calledAtMs time of `now` at which the refused call began */
  add(check: Check, verdict: Verdict, calledAtMs: number): void {
    const expiresAtMs = calledAtMs + Math.min(verdict.retryMs, this.maxMs);
    if (expiresAtMs <= this.now()) return;
    const id = memoryId(check.rule, check.subject);
    this.refusals.delete(id);
    this.isEmpty = false;
    this.refusals.set(id, { limit: check.limit, cost: check.cost, verdict, calledAtMs, expiresAtMs });
    if (this.refusals.size <= this.maxRefusals) return;
    for (const oldest of this.refusals.keys()) {
      this.refusals.delete(oldest);
      return;
    }
  }

  remove(check: Pick<Check, 'rule' | 'subject'>): void {
    this.delete(memoryId(check.rule, check.subject));
  }

  private delete(id: string): void {
    this.refusals.delete(id);
    this.isEmpty = this.refusals.size === 0;
  }
}
