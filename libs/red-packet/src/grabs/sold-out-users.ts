import { performance } from 'node:perf_hooks';
import type { ScriptRegistry } from 'luanest/script-registry';
import type { Layout } from '../buckets/layout';
import { isSoldOut } from '../buckets/refills';
import type { Transfers } from '../buckets/transfers';
import type { BucketReading } from '../buckets/bucket.scripts';
import { readRecords } from '../activity/results.scripts';
import { WinnerFilter } from './winner-filter';

/** Activities that a process remembers as sold out. */
const MOST_KEPT = 32;
const PAGE = 1_000;

interface Memory {
  /** By `performance.now()`: the app's clock has no say. */
  validUntil: number;
  /** Tells whether somebody has won since the filter was made. */
  version: string;
  winners: WinnerFilter;
}

/**
 * What a process knows of sold-out activities: until when that holds, as Redis said, and who may be among the winners.
 * Everybody else is a loser, and is told so without a call.
 * See DECISIONS.md: losers-known-by-filter
 */
export class Losers {
  private readonly memories = new Map<string, Memory>();
  private readonly learning = new Set<string>();
  private closed = false;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly transfers: Transfers,
  ) {}

  /** Whether this user is known to get nothing of the activity. */
  has(activityId: string, userId: string): boolean {
    if (this.memories.size === 0) return false;
    const memory = this.memories.get(activityId);
    return memory !== undefined && performance.now() < memory.validUntil && !memory.winners.mayHave(userId);
  }

  /** Redis has called the activity sold out: learns in the background for how long, and who has won. */
  learn(layout: Layout): void {
    const { activityId } = layout;
    const memory = this.memories.get(activityId);
    if (this.closed || this.learning.has(activityId) || (memory && performance.now() < memory.validUntil)) return;
    this.learning.add(activityId);
    this.read(layout)
      // Nobody waits for this: without the memory losers are answered by Redis.
      .catch(() => undefined)
      .finally(() => this.learning.delete(activityId));
  }

  /** Stops learning. */
  close(): void {
    this.closed = true;
    this.memories.clear();
  }

  private async read(layout: Layout): Promise<void> {
    const { activityId } = layout;
    const known = this.memories.get(activityId);
    let asked = performance.now();
    let readings = await this.transfers.readAll(layout);
    let version = versionOf(readings);
    if (!isRefusing(readings) || version === undefined || validMs(readings) === 0) return;
    let winners = known?.winners;
    if (winners === undefined || known?.version !== version) {
      winners = await this.winnersOf(layout, readings);
      // Whoever won while the pages were read is not in all of them.
      asked = performance.now();
      const again = await this.transfers.readAll(layout);
      if (!isRefusing(again) || versionOf(again) !== version) return;
      [readings, version] = [again, versionOf(again) ?? ''];
    }
    this.keep(activityId, { validUntil: asked + validMs(readings), version, winners });
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
    return this.registry.run(readRecords, { keys: { grants }, args: { cursor, count: PAGE } });
  }
}

/** Whether whoever has no packet gets the answer "sold out" everywhere: not so once the activity has ended or is paused. */
function isRefusing(readings: readonly BucketReading[]): boolean {
  return isSoldOut(readings) && readings.every(({ state }) => state === 'open');
}

/** Changes with every grant, and with every activity of the same id. Undefined where a bucket has lost its outbox. */
function versionOf(readings: readonly BucketReading[]): string | undefined {
  if (readings.some(({ lastRow }) => lastRow === '')) return undefined;
  return readings.map(({ createdAtMs, lastRow, granted }) => `${createdAtMs}/${lastRow}/${granted}`).join();
}

function validMs(readings: readonly BucketReading[]): number {
  return Math.min(...readings.map(({ soldOutMs }) => soldOutMs));
}
