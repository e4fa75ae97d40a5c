import type { BucketReading } from './bucket.scripts';
import type { Layout } from './layout';
import type { Transfers } from './transfers';

/** What a refill found: packets for the bucket; none anywhere, ever again; or none that could be had just now. */
type Refilled = 'moved' | 'sold-out' | 'nothing';

/** Brings packets to empty buckets, one transfer a bucket at a time in this process. */
export class Refills {
  private readonly running = new Map<string, Promise<Refilled>>();

  constructor(private readonly transfers: Transfers) {}

  /**
   * Brings packets to a bucket, or joins who is at it.
   *
   * `sold-out` is proven: what a bucket has granted and refunded never becomes less, so once counters that were read one
   * after another add up to all packets, all were gone when the last was read, and are gone ever after.
   */
  refill(layout: Layout, bucket: number): Promise<Refilled> {
    const name = `${bucket}@${layout.activityId}`;
    let running = this.running.get(name);
    if (running === undefined) {
      running = this.bring(layout, bucket).finally(() => this.running.delete(name));
      this.running.set(name, running);
    }
    return running;
  }

  private async bring(layout: Layout, to: number): Promise<Refilled> {
    const readings = await this.transfers.readAll(layout);
    if (isSoldOut(readings)) return 'sold-out';
    if ((readings[to]?.pooled ?? 0) > 0) return 'moved';
    for (const from of sourcesFor(readings, to)) {
      if ((await this.transfers.move(layout, { from, to })) > 0) return 'moved';
    }
    // What is under way elsewhere may have been left by a process that died.
    return (await this.transfers.finish(layout, readings)) > 0 ? 'moved' : 'nothing';
  }
}

// See DECISIONS.md: sold-out-proven-by-growing-counters
/** Whether the counters of all buckets prove that no packet is left in a pool or between two. */
export function isSoldOut(readings: readonly BucketReading[]): boolean {
  const all = readings[0]?.allPackets ?? 0;
  const gone = readings.reduce((sum, { granted, refundedPackets }) => sum + granted + refundedPackets, 0);
  return all > 0 && readings.every(({ state }) => state !== '' && state !== 'draft') && gone === all;
}

/** Buckets to take packets from: those that already have some under way, then the fullest first. */
function sourcesFor(readings: readonly BucketReading[], to: number): number[] {
  const ranked = readings.map((reading, from) => ({ from, reading })).filter(({ from }) => from !== to);
  const underWay = ranked.filter(({ reading }) => reading.outgoing.includes(to));
  const full = ranked.filter(({ reading }) => reading.pooled > 0 && !reading.outgoing.includes(to));
  full.sort((one, other) => other.reading.pooled - one.reading.pooled);
  return [...underWay, ...full].map(({ from }) => from);
}
