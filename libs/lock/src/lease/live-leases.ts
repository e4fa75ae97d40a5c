import { time, type Timer } from '../../../internal/src';
import type { Lease, LeaseKeeper } from './lease';

/** Time from the first new lease to the check that gives a timer to each lease that is still held, ms. */
const SWEEP_MS = 250;

/**
 * The leases of a LockService, also revoked leases and those whose release is in flight. Most locks are held only for a moment, and a
 * timer for each lease would be costly. So one shared timer fires after 250 ms and starts a timer for each lease that is still held
 * then. Only a lease that must act within a second starts its own timer at once.
 * See DECISIONS.md: late-timers-for-leases
 */
export class LiveLeases implements LeaseKeeper {
  // Much more than SWEEP_MS, because a timer may fire late.
  readonly watchWithinMs = 4 * SWEEP_MS;
  /** Leases that the shared timer has not seen yet. */
  private readonly recent = new Set<Lease>();
  /** Leases that the shared timer has seen. */
  private readonly watched = new Set<Lease>();
  private sweeper: Timer | undefined;

  add(lease: Lease): void {
    this.recent.add(lease);
    if (this.sweeper !== undefined) return;
    this.sweeper = time.setTimer(() => this.sweep(), SWEEP_MS);
    this.sweeper.unref();
  }

  remove(lease: Lease): void {
    if (!this.recent.delete(lease)) this.watched.delete(lease);
  }

  get empty(): boolean {
    return this.recent.size === 0 && this.watched.size === 0;
  }

  *[Symbol.iterator](): Iterator<Lease> {
    yield* [...this.recent, ...this.watched];
  }

  private sweep(): void {
    this.sweeper = undefined;
    const leases = [...this.recent];
    this.recent.clear();
    for (const lease of leases) this.watched.add(lease);
    // A lease that has ended by the local clock removes itself in `watch`.
    for (const lease of leases) lease.watch();
  }
}
