import { performance } from 'node:perf_hooks';
import { MAX_TIMER_MS } from '../../../internal/src';

/** What a round keeps alive. */
export interface Lease {
  /** `performance.now()` when the lease should be renewed. */
  renewAt: number;
  /** Where the rounds have it. */
  place: number;
  /** Lets the lease run anew; false when there is nothing more to renew. */
  renew(): Promise<boolean>;
}

/** Renews all leases of one length by one timer: a timer for each request would show. */
export class LeaseRounds {
  // An array, of which the last takes the place of one that leaves: hash tables of what comes and goes burden the collector.
  private readonly leases: Lease[] = [];
  private timer: NodeJS.Timeout | undefined;

  /** @param leaseMs how long each lasts; it is renewed when a third to a half of that is over */
  constructor(private readonly leaseMs: number) {}

  /** @param claimedAt `performance.now()` from before the claim was sent */
  add(lease: Lease, claimedAt: number): void {
    lease.renewAt = claimedAt + this.leaseMs / 3;
    lease.place = this.leases.length;
    this.leases.push(lease);
    this.timer ??= setTimeout(() => this.round(), Math.min(Math.ceil(this.leaseMs / 6), MAX_TIMER_MS)).unref();
  }

  /** Ends the renewals of a lease. Harmless twice. */
  remove(lease: Lease): void {
    if (this.leases[lease.place] !== lease) return;
    const last = this.leases.pop() as Lease;
    if (last === lease) return;
    this.leases[lease.place] = last;
    last.place = lease.place;
  }

  private round(): void {
    this.timer = undefined;
    const now = performance.now();
    for (const lease of [...this.leases]) {
      if (lease.renewAt > now) continue;
      lease.renewAt = now + this.leaseMs / 3;
      // Redis was away or silent: the lease may still be ours, and is asked for again.
      const ignore = (): boolean => true;
      void lease.renew().then((goesOn) => goesOn || this.remove(lease), ignore);
    }
    if (this.leases.length === 0) return;
    this.timer = setTimeout(() => this.round(), Math.min(Math.ceil(this.leaseMs / 6), MAX_TIMER_MS)).unref();
  }
}
