import { NotReplicatedError } from 'luanest/script-registry';
import type { BucketReading } from './bucket.scripts';
import type { Layout } from './layout';
import type { Transfers } from './transfers';

/**
 * Result of filling an empty bucket. `moved`: grab again, because the bucket has packets, or transfers of other buckets were finished.
 * `sold-out`: no bucket has packets, or will get any. `nothing`: packets may be left, but none could be moved now.
 */
type Refilled = 'moved' | 'sold-out' | 'nothing';

/** Moves packets to empty buckets (shards of an activity) from other buckets. A process does this once at a time for each bucket. */
export class Refills {
  private readonly running = new Map<string, Promise<Refilled>>();

  constructor(private readonly transfers: Transfers) {}

  /** Moves packets to a bucket. If this process is doing so already, returns the promise of that call. */
  refill(layout: Layout, bucket: number): Promise<Refilled> {
    const name = `${bucket}@${layout.activityId}`;
    let running = this.running.get(name);
    if (running === undefined) {
      running = this.fetch(layout, bucket)
        .catch(nothingYet)
        .finally(() => this.running.delete(name));
      this.running.set(name, running);
    }
    return running;
  }

  private async fetch(layout: Layout, to: number): Promise<Refilled> {
    const readings = await this.transfers.readAll(layout);
    if (isSoldOut(readings)) return 'sold-out';
    if ((readings[to]?.pooled ?? 0) > 0) return 'moved';
    for (const from of sourcesFor(readings, to)) {
      if ((await this.transfers.move(layout, { from, to })) > 0) return 'moved';
    }
    // A process that died may have left transfers between other buckets unfinished. Users can still win the packets of such transfers.
    return (await this.transfers.finish(layout, readings)) > 0 ? 'moved' : 'nothing';
  }
}

/**
 * Returns `nothing` for a NotReplicatedError: too few replicas have confirmed a step, which the next call repeats. Throws any other error.
 */
function nothingYet(error: unknown): 'nothing' {
  if (error instanceof NotReplicatedError) return 'nothing';
  throw error;
}

// See DECISIONS.md: sold-out-proven-by-growing-counters
/**
 * Returns true if the counters prove that no packet is left in a bucket or on the way. The buckets are read at different moments. But
 * granted + refunded of a bucket never decreases, unless Redis loses data. So if the sum for all buckets is the number of all packets, no
 * packet is left, and none will be.
 */
export function isSoldOut(readings: readonly BucketReading[]): boolean {
  const all = readings[0]?.allPackets ?? 0;
  const gone = readings.reduce((sum, { granted, refundedPackets }) => sum + granted + refundedPackets, 0);
  return all > 0 && readings.every(({ state }) => state !== '' && state !== 'draft') && gone === all;
}

/**
 * Returns the buckets from which packets may be moved to the bucket `to`: first those with an unfinished transfer to it, then the others
 * that have packets, the fullest first.
 */
function sourcesFor(readings: readonly BucketReading[], to: number): number[] {
  const ranked = readings.map((reading, from) => ({ from, reading })).filter(({ from }) => from !== to);
  const sending = ranked.filter(({ reading }) => reading.outgoing.includes(to));
  const full = ranked.filter(({ reading }) => reading.pooled > 0 && !reading.outgoing.includes(to));
  full.sort((one, other) => other.reading.pooled - one.reading.pooled);
  return [...sending, ...full].map(({ from }) => from);
}
