import type { Page } from '../../../internal/src';
import type { ScriptRegistry } from 'luanest/script-registry';
import { homeOf, keysOf, type Layout } from '../buckets/layout';
import { checkBucket, checkCursor, checkLimit } from '../red-packet.input';
import type { Grant, Packet } from '../red-packet.types';
import { readGrant, readLuckiest, readRecords } from './results.scripts';

const PAGE = 1_000;

/** Page of grants (packets with their winners) to read: index of the bucket, cursor of HSCAN there, and approximate number of grants. */
export interface PageRequest {
  readonly bucket: number;
  readonly cursor: string;
  readonly count: number;
}

/** Reads the grants of an activity: its packets with their winners. */
export class Results {
  constructor(private readonly registry: ScriptRegistry) {}

  /** Checks the limit and cursor of a page. @throws InvalidInputError */
  static page({ cursor = '0', limit }: { readonly cursor?: string; readonly limit?: number }): PageRequest {
    const count = checkLimit(limit, PAGE);
    const { bucket, at } = checkCursor(cursor);
    return { bucket, cursor: at, count };
  }

  async packetOf(layout: Layout, userId: string): Promise<Packet | undefined> {
    const { grants } = keysOf(layout, homeOf(layout, userId));
    return (await this.registry.run(readGrant, { keys: { grants }, args: { userId } })).packet;
  }

  /** Returns a page of grants. All of them are in one bucket. After the last page of a bucket comes the first page of the next one. */
  async records(layout: Layout, { bucket, cursor: from, count }: PageRequest): Promise<Page<Grant>> {
    checkBucket(`${from}@${bucket}`, bucket, layout.buckets.length);
    const { grants } = keysOf(layout, bucket);
    const { cursor, records } = await this.registry.run(readRecords, {
      keys: { hash: grants },
      args: { cursor: from, count },
    });
    const last = cursor === '0' && bucket === layout.buckets.length - 1;
    const next = cursor === '0' ? bucket + 1 : bucket;
    return { items: records, ...(!last && { nextCursor: next === 0 ? cursor : `${cursor}@${next}` }) };
  }

  async luckiest(layout: Layout): Promise<Grant | undefined> {
    const bests = await Promise.all(
      layout.buckets.map(({ meta }) => this.registry.run(readLuckiest, { keys: { meta }, args: {} })),
    );
    const grants = bests.some(({ lost }) => lost) ? await this.search(layout) : bests.map(({ grant }) => grant);
    return grants
      .filter(({ userId }) => userId !== '')
      .reduce<Grant | undefined>((best, grant) => (best && !isLuckier(grant, best) ? best : grant), undefined);
  }

  /** Reads all grants to find the largest packet. Needed if the one that a bucket has stored may be wrong, for example after `conflict`. */
  private async search(layout: Layout): Promise<Grant[]> {
    let best: Grant | undefined;
    for (let at: PageRequest | undefined = Results.page({ limit: PAGE }); at !== undefined;) {
      const page: Page<Grant> = await this.records(layout, at);
      for (const record of page.items) if (best === undefined || isLuckier(record, best)) best = record;
      at = page.nextCursor === undefined ? undefined : Results.page({ cursor: page.nextCursor, limit: PAGE });
    }
    return best === undefined ? [] : [best];
  }
}

function isLuckier(one: Grant, other: Grant): boolean {
  if (one.amountCents !== other.amountCents) return one.amountCents > other.amountCents;
  return one.grantedAtMs < other.grantedAtMs;
}
