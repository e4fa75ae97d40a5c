import type { ScriptRegistry } from 'luanest/script-registry';
import { time } from '../../../internal/src';
import type { Layout } from '../buckets/layout';
import { isSoldOut } from '../buckets/refills';
import type { Transfers } from '../buckets/transfers';
import type { BucketReading } from '../buckets/bucket.scripts';
import { readRecords } from '../activity/results.scripts';
import { WinnerFilter } from './winner-filter';

const MOST_KEPT = 32;
const PAGE = 1_000;

interface Memory {
  /** End of the time for which this entry may be used, by `time.monotonicMs()`. */
  validUntil: number;
  version: string;
  winners: WinnerFilter;
}

/**
 * Remembers for `soldOutMs` that an activity is sold out, with a Bloom filter of its winners. A user who is surely not a winner gets
 * `sold-out` without a call to Redis. The grabs of winners go to Redis, and those of the few users whom the filter takes for winners.
 * See DECISIONS.md: losers-known-by-filter
 */
export class SoldOutUsers {
  private readonly memories = new Map<string, Memory>();
  private readonly reading = new Set<string>();
  private closed = false;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly transfers: Transfers,
  ) {}

  has(activityId: string, userId: string): boolean {
    if (this.memories.size === 0) return false;
    const memory = this.memories.get(activityId);
    return memory !== undefined && time.monotonicMs() < memory.validUntil && !memory.winners.mayHave(userId);
  }

  /** Reads the winners of a sold-out activity in the background, unless this process knows them or is reading them. */
  remember(layout: Layout): void {
    const { activityId } = layout;
    const memory = this.memories.get(activityId);
    if (this.closed || this.reading.has(activityId) || (memory && time.monotonicMs() < memory.validUntil)) return;
    this.reading.add(activityId);
    this.read(layout)
      // No caller waits for this. After a failure, grabs go to Redis as before.
      .catch(() => undefined)
      .finally(() => this.reading.delete(activityId));
  }

  close(): void {
    this.closed = true;
    this.memories.clear();
  }

  private async read(layout: Layout): Promise<void> {
    const { activityId } = layout;
    const known = this.memories.get(activityId);
    let readAt = time.monotonicMs();
    let readings = await this.transfers.readAll(layout);
    let version = versionOf(readings);
    if (!isRefusing(readings) || version === undefined || validMs(readings) === 0) return;
    let winners = known?.winners;
    if (winners === undefined || known?.version !== version) {
      winners = await this.winnersOf(layout, readings);
      // Somebody may win while the pages are read, and be on none of them. So the winners are used only if the version, which
      // changes with every grant, is the same afterwards.
      readAt = time.monotonicMs();
      const again = await this.transfers.readAll(layout);
      if (!isRefusing(again) || versionOf(again) !== version) return;
      [readings, version] = [again, versionOf(again) ?? ''];
    }
    this.keep(activityId, { validUntil: readAt + validMs(readings), version, winners });
  }

  private keep(activityId: string, memory: Memory): void {
    if (this.closed) return;
    this.memories.delete(activityId);
    if (this.memories.size >= MOST_KEPT) this.memories.delete(this.memories.keys().next().value as string);
    this.memories.set(activityId, memory);
  }

  private async winnersOf({ buckets }: Layout, readings: readonly BucketReading[]): Promise<WinnerFilter> {
    const filter = new WinnerFilter(readings.reduce((sum, { granted }) => sum + granted, 0));
    for (const { grants } of buckets) {
      for (let cursor: string | undefined = '0'; cursor !== undefined && !this.closed;) {
        const page: Awaited<ReturnType<typeof this.page>> = await this.page(grants, cursor);
        for (const { userId } of page.records) filter.add(userId);
        cursor = page.cursor === '0' ? undefined : page.cursor;
      }
    }
    return filter;
  }

  private page(grants: string, cursor: string) {
    return this.registry.run(readRecords, { keys: { hash: grants }, args: { cursor, count: PAGE } });
  }
}

/**
 * Returns true if all packets are gone and all buckets are open, so that a user without a packet gets `sold-out`. In a paused, ended or
 * closed bucket, the result would be `not-open`.
 */
function isRefusing(readings: readonly BucketReading[]): boolean {
  return isSoldOut(readings) && readings.every(({ state }) => state === 'open');
}

/**
 * Returns a text that changes with every grant, and differs for another activity with the same id. It has the time of the last grant in
 * each bucket, so it is undefined if Redis has lost the grants of a bucket.
 */
function versionOf(readings: readonly BucketReading[]): string | undefined {
  if (readings.some(({ lastGrant }) => lastGrant === '')) return undefined;
  return readings.map(({ createdAtMs, lastGrant, granted }) => `${createdAtMs}/${lastGrant}/${granted}`).join();
}

/** Returns how long this process may remember that the activity is sold out, ms; 0 if it may not. */
function validMs(readings: readonly BucketReading[]): number {
  return Math.min(...readings.map(({ soldOutMs }) => soldOutMs));
}
