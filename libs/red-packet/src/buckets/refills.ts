import { NotReplicatedError } from 'luanest/script-registry';
import type { BucketReading } from './bucket.scripts';
import type { Layout } from './layout';
import type { Transfers } from './transfers';

/**
 * Result of a refill of a bucket. `moved`: the bucket had or got packets, or the refill tried to finish transfers of other buckets.
 * `sold-out`: no bucket has packets or will get any. `nothing`: packets may be left, but none could be moved now.
 */
type Refilled = 'moved' | 'sold-out' | 'nothing';

/** Refills empty buckets: moves packets from other buckets to them. A process runs one refill of a bucket at a time. */
export class Refills {
  private readonly running = new Map<string, Promise<Refilled>>();

  constructor(private readonly transfers: Transfers) {}

  /**
   * Moves packets to a bucket. If a refill of this bucket is running in this process, returns the promise of that refill.
   */
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
    // A process that died may have left transfers between other buckets, which hold packets.
    return (await this.transfers.finish(layout, readings)) > 0 ? 'moved' : 'nothing';
  }
}

/** Too few replicas had a step in time. The next refill goes on with it. @throws any other error */
function nothingYet(error: unknown): 'nothing' {
  if (error instanceof NotReplicatedError) return 'nothing';
  throw error;
}

// See DECISIONS.md: sold-out-proven-by-growing-counters
/**
 * Returns true if the counters prove that no packet is left in a pool or a transfer. Unless Redis loses data, granted + refunded
 * of a bucket never becomes less. The buckets are read at different instants. If granted + refunded of all buckets add up to all
 * packets, then all packets were gone when the last bucket was read, and they stay gone.
 */
export function isSoldOut(readings: readonly BucketReading[]): boolean {
  const all = readings[0]?.allPackets ?? 0;
  const gone = readings.reduce((sum, { granted, refundedPackets }) => sum + granted + refundedPackets, 0);
  return all > 0 && readings.every(({ state }) => state !== '' && state !== 'draft') && gone === all;
}

/**
 * Returns the buckets from which packets may be moved to the bucket `to`: first those that have begun a transfer to it, then the
 * others that have packets, the fullest first.
 */
function sourcesFor(readings: readonly BucketReading[], to: number): number[] {
  const ranked = readings.map((reading, from) => ({ from, reading })).filter(({ from }) => from !== to);
  const sending = ranked.filter(({ reading }) => reading.outgoing.includes(to));
  const full = ranked.filter(({ reading }) => reading.pooled > 0 && !reading.outgoing.includes(to));
  full.sort((one, other) => other.reading.pooled - one.reading.pooled);
  return [...sending, ...full].map(({ from }) => from);
}
