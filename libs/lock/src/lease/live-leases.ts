import type { Lease, LeaseKeeper } from './lease';

/** Interval after which leases that are still held get a timer each, ms. */
const SWEEP_MS = 250;

/**
 * The leases of a process. Most locks are held for a moment, and a timer for each would cost more than the rest of a lease.
 * One shared timer gives a timer of their own to the leases that are still held when it fires.
 * See DECISIONS.md: late-timers-for-leases
 */
export class LiveLeases implements LeaseKeeper {
  // A timer may fire late.
  readonly watchWithinMs = 4 * SWEEP_MS;
  /** Leases that may not have a timer yet. */
  private readonly recent = new Set<Lease>();
  /** Leases that have a timer. */
  private readonly watched = new Set<Lease>();
  private sweeper: NodeJS.Timeout | undefined;

  add(lease: Lease): void {
    this.recent.add(lease);
    this.sweeper ??= setTimeout(() => this.sweep(), SWEEP_MS).unref();
  }

  remove(lease: Lease): void {
    if (!this.recent.delete(lease)) this.watched.delete(lease);
  }

  /** True while this process holds no lease, and no release of one is in flight. */
  get empty(): boolean {
    return this.recent.size === 0 && this.watched.size === 0;
  }

  /** Iterates over the leases that are neither lost nor released, and over those whose release is in flight. */
  *[Symbol.iterator](): Iterator<Lease> {
    yield* [...this.recent, ...this.watched];
  }

  private sweep(): void {
    this.sweeper = undefined;
    const leases = [...this.recent];
    this.recent.clear();
    for (const lease of leases) this.watched.add(lease);
    // A lease whose time is over removes itself.
    for (const lease of leases) lease.watch();
  }
}
