import type { Lease, LeaseKeeper } from './lease';

/** How often those that are still held get a timer of their own, ms. */
const SWEEP_MS = 250;

/** A place in a ring of leases, from which it is taken in constant time. */
class Place {
  previous: Place = this;
  next: Place = this;

  constructor(readonly lease?: Lease) {}

  join(ring: Place): void {
    this.previous = ring.previous;
    this.next = ring;
    ring.previous.next = this;
    ring.previous = this;
  }

  leave(): void {
    this.previous.next = this.next;
    this.next.previous = this.previous;
    this.previous = this.next = this;
  }
}

/**
 * The leases of a process. Most locks are held for a moment, and a timer each would cost more than all else that is kept
 * of them: one timer for all gives those a timer of their own that are still held when it rings.
 * See DECISIONS.md: late-timers-for-leases
 */
export class LiveLeases implements LeaseKeeper {
  // A timer may ring late.
  readonly watchWithinMs = 4 * SWEEP_MS;
  private readonly young = new Place();
  private readonly old = new Place();
  private sweeper: NodeJS.Timeout | undefined;

  took(lease: Lease): () => void {
    const place = new Place(lease);
    place.join(this.young);
    this.sweeper ??= setTimeout(() => this.sweep(), SWEEP_MS).unref();
    return () => place.leave();
  }

  /** Returns true when this process holds no lease, and no release of one is in flight. */
  get empty(): boolean {
    return !this.young.next.lease && !this.old.next.lease;
  }

  /** The leases that are neither lost nor released, those included whose release is in flight. */
  *[Symbol.iterator](): Iterator<Lease> {
    yield* [...leasesOf(this.young), ...leasesOf(this.old)];
  }

  private sweep(): void {
    this.sweeper = undefined;
    for (let place = this.young.next; place.lease; place = this.young.next) {
      place.leave();
      place.join(this.old);
      place.lease.watch();
    }
  }
}

function leasesOf(ring: Place): Lease[] {
  const leases: Lease[] = [];
  for (let place = ring.next; place.lease; place = place.next) leases.push(place.lease);
  return leases;
}
