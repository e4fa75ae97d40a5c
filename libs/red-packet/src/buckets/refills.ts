import type { BucketReading } from './bucket.scripts';
import type { Layout } from './layout';
import type { Transfers } from './transfers';

/** Result of a refill: packets arrived; no bucket has packets or ever will; or none could be moved now. */
type Refilled = 'moved' | 'sold-out' | 'nothing';

/** Moves packets to empty buckets. A process runs one refill of a bucket at a time. */
export class Refills {
  private readonly running = new Map<string, Promise<Refilled>>();

  constructor(private readonly transfers: Transfers) {}

  /**
   * Moves packets to a bucket, or joins the refill of this bucket that is running.
   *
   * `sold-out` is proven: see `isSoldOut`.
   */
  refill(layout: Layout, bucket: number): Promise<Refilled> {
    const name = `${bucket}@${layout.activityId}`;
    let running = this.running.get(name);
    if (running === undefined) {
      running = this.fetch(layout, bucket).finally(() => this.running.delete(name));
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
    // Transfers between other buckets may have been left by a process that died.
    return (await this.transfers.finish(layout, readings)) > 0 ? 'moved' : 'nothing';
  }
}

// See DECISIONS.md: sold-out-proven-by-growing-counters
/**
 * Returns true if the counters prove that no packet is left in a pool or a transfer. Granted + refunded of a bucket never
 * becomes less. So if counters that were read one after another add up to all packets, all were gone when the last one was
 * read, and stay gone.
 */
export function isSoldOut(readings: readonly BucketReading[]): boolean {
  const all = readings[0]?.allPackets ?? 0;
  const gone = readings.reduce((sum, { granted, refundedPackets }) => sum + granted + refundedPackets, 0);
  return all > 0 && readings.every(({ state }) => state !== '' && state !== 'draft') && gone === all;
}

/** Buckets to take packets from: first those with a transfer to this bucket in flight, then the fullest. */
function sourcesFor(readings: readonly BucketReading[], to: number): number[] {
  const ranked = readings.map((reading, from) => ({ from, reading })).filter(({ from }) => from !== to);
  const sending = ranked.filter(({ reading }) => reading.outgoing.includes(to));
  const full = ranked.filter(({ reading }) => reading.pooled > 0 && !reading.outgoing.includes(to));
  full.sort((one, other) => other.reading.pooled - one.reading.pooled);
  return [...sending, ...full].map(({ from }) => from);
}
