import { MAX_TIMER_MS, time, type Timer } from '../../../internal/src';

/** Lease that a LeaseTimer renews. */
export interface TimedLease {
  /** Index in the list of the LeaseTimer, which sets it. */
  index: number;
  /**
   * Renews the lease if a renewal is due, and treats the lease as lost if its time is over.
   *
   * @param now result of `time.monotonicMs()`
   * @returns latest time of the next call, by the same clock, so that a lost lease is noticed in time; Infinity for an ended lease.
   *   Renewals need a call at least every `leaseMs / 6`
   */
  tick(now: number): number;
}

/** Renews all leases of one length with one timer, because a timer for each request would cost throughput. */
export class LeaseTimer {
  // `remove` moves the last lease to the index of the removed lease. A Set would need more garbage collection.
  private readonly all: TimedLease[] = [];
  private timer: Timer | undefined;

  /**
   * @param leaseMs length of each lease, ms
   * @param emptied called when the timer fires and there is no lease any more
   */
  constructor(
    private readonly leaseMs: number,
    private readonly emptied: () => void,
  ) {}

  get leases(): readonly TimedLease[] {
    return this.all;
  }

  add(lease: TimedLease): void {
    lease.index = this.all.length;
    this.all.push(lease);
    if (this.timer === undefined) this.schedule(this.leaseMs / 6);
  }

  /** Removes a lease. May be called twice. */
  remove(lease: TimedLease): void {
    if (this.all[lease.index] !== lease) return;
    const last = this.all.pop() as TimedLease;
    if (last === lease) return;
    this.all[lease.index] = last;
    last.index = lease.index;
  }

  private schedule(afterMs: number): void {
    this.timer = time.setTimer(() => this.tickAll(), Math.min(Math.max(1, Math.ceil(afterMs)), MAX_TIMER_MS));
    this.timer.unref();
  }

  private tickAll(): void {
    this.timer = undefined;
    const now = time.monotonicMs();
    let next = now + this.leaseMs / 6;
    for (const lease of [...this.all]) next = Math.min(next, lease.tick(now));
    if (this.all.length === 0) this.emptied();
    else this.schedule(next - now);
  }
}
