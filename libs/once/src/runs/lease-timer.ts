import { performance } from 'node:perf_hooks';
import { MAX_TIMER_MS } from '../../../internal/src';

/** Lease that a LeaseTimer looks after. */
export interface TimedLease {
  /** Index in the timer's list. */
  index: number;
  /**
   * Renews the lease if a renewal is due, and ends it if its time is over.
   *
   * @param now `performance.now()`
   * @returns the latest time at which this must be called again, by the same clock
   */
  tick(now: number): number;
}

/** Looks after all leases of one length with one timer: a timer for each request would cost throughput. */
export class LeaseTimer {
  // An array in which the last lease replaces the removed one. A Set with this turnover costs more garbage collection.
  private readonly all: TimedLease[] = [];
  private timer: NodeJS.Timeout | undefined;

  /**
   * @param leaseMs length of each lease, ms
   * @param emptied called when the timer runs and has no lease
   */
  constructor(
    private readonly leaseMs: number,
    private readonly emptied: () => void,
  ) {}

  /** Leases, in no particular order. */
  get leases(): readonly TimedLease[] {
    return this.all;
  }

  /** Adds a lease. */
  add(lease: TimedLease): void {
    lease.index = this.all.length;
    this.all.push(lease);
    if (this.timer === undefined) this.schedule(this.leaseMs / 6);
  }

  /** Removes a lease. Harmless twice. */
  remove(lease: TimedLease): void {
    if (this.all[lease.index] !== lease) return;
    const last = this.all.pop() as TimedLease;
    if (last === lease) return;
    this.all[lease.index] = last;
    last.index = lease.index;
  }

  private schedule(afterMs: number): void {
    this.timer = setTimeout(() => this.tickAll(), Math.min(Math.max(1, Math.ceil(afterMs)), MAX_TIMER_MS)).unref();
  }

  private tickAll(): void {
    this.timer = undefined;
    const now = performance.now();
    let next = now + this.leaseMs / 6;
    for (const lease of [...this.all]) next = Math.min(next, lease.tick(now));
    if (this.all.length === 0) this.emptied();
    else this.schedule(next - now);
  }
}
