import type { ScriptRegistry } from 'luanest/script-registry';
import { Logger } from '@nestjs/common';
import { atLast, Steps, time, type Page } from '../../../internal/src';
import { keysOf, PAYOUT_GROUP, type BucketKeys, type Layout } from '../buckets/layout';
import { checkBucket, checkDeadId, refuse, type BucketPosition } from '../red-packet.input';
import {
  buryPayout,
  dropPayouts,
  dropRows,
  listDead,
  replayPayouts,
  restorePayouts,
  ringOutbox,
  settleDead,
  settlePayout,
  type DeadRow,
} from './payout.scripts';
import { fieldsOf, grantOf, ownerOf, type PayoutRow } from './payout-row';
import type { PayoutDeadLetter } from './payouts.types';

/** Largest page of dead-lettered payouts. */
export const MAX_DEAD_LETTERS = 500;
const IDS_A_CALL = 100;
const ROWS_A_CALL = 1_000;
/** This process wakes the payout runs of a stream at most once in this time, ms. */
const RING_MS = 100;

/** A payout that is missing in the stream of open payouts, and must be restored. */
export interface LostRow {
  readonly userId: string;
  /** Grant as Redis stores it: `<packetId>:<cents>:<ms>`. */
  readonly grant: string;
}

type Change = (keys: BucketKeys, ids: readonly string[]) => Promise<number>;

// See DECISIONS.md: payouts-in-fixed-partitions
/**
 * Reads and changes the payouts in Redis. Open payouts are rows in outboxes: one stream for each partition (hash tag). Dead-lettered
 * payouts are in one stream for each bucket (shard of an activity).
 */
export class Outboxes {
  private readonly logger = new Logger('RedPacketPayouts');
  /**
   * Keys of the streams whose payout runs this process has woken less than RING_MS ago. The value is true if a payout has come since. The
   * runs are then woken again when RING_MS is over.
   */
  private readonly rung = new Map<string, boolean>();
  private hasWarned = false;

  constructor(private readonly registry: ScriptRegistry) {
    atLast(registry, () => this.ringLate());
  }

  // See DECISIONS.md: winners-ring
  /** Wakes the payout runs of all processes, because there is a new payout. Many calls within 100 ms become one. Never throws. */
  ring(outbox: string): void {
    if (this.rung.has(outbox)) {
      this.rung.set(outbox, true);
      return;
    }
    this.rung.set(outbox, false);
    void this.wake(outbox);
    const over = (): void => {
      const again = this.rung.get(outbox);
      this.rung.delete(outbox);
      if (again === true) this.ring(outbox);
    };
    time.setTimer(over, RING_MS).unref();
  }

  /**
   * Wakes the payout runs of all processes if there are payouts. Never rejects: if the wake-up is lost, the runs still look for payouts
   * from time to time.
   */
  async wake(outbox: string): Promise<void> {
    const rows = await this.registry.run(ringOutbox, { keys: { outbox }, args: {} }).catch(() => 0);
    if (rows >= 0 || this.hasWarned) return;
    this.hasWarned = true;
    this.logger.warn(
      'Payouts of red packets may be late, because the Redis user may not use SPUBLISH on the channels of red-packet. ' +
        'Give the user +spublish and the channels that begin with the prefix (&<prefix>:*), see docs/production.md.',
    );
  }

  /** Removes a payout that was paid. If another process has dead-lettered it meanwhile, removes the dead letter. */
  async settle(row: PayoutRow, rowId: string): Promise<void> {
    const { outbox, meta, dead } = row.keys;
    const fields = fieldsOf(row);
    if (await this.registry.run(settlePayout, { keys: { outbox, meta }, args: { rowId, ...fields } })) return;
    for (let after = '0-0'; after !== '';) {
      const args = { ...fields, after, count: ROWS_A_CALL };
      after = await this.registry.run(settleDead, { keys: { dead, meta }, args });
    }
  }

  /**
   * Moves a payout to the dead letters of its bucket.
   *
   * @returns `none` if the payout does not exist any more; `forgotten` if Redis no longer has the activity, so that the payout stays where
   *   it is
   */
  bury(
    { keys, owner }: PayoutRow,
    rowId: string,
    why: { readonly problem: string; readonly attempts: number; readonly firstSeenMs: number },
  ): Promise<'buried' | 'none' | 'forgotten'> {
    const { outbox, meta, dead } = keys;
    return this.registry.run(buryPayout, { keys: { outbox, meta, dead }, args: { rowId, owner, ...why } });
  }

  /** Deletes all open payouts of an activity, because they are given up (see `RedPacketService.forget`). */
  async dropRows({ layout, expiresAtMs }: { readonly layout: Layout; readonly expiresAtMs: number }): Promise<void> {
    const { activityId, buckets } = layout;
    for (const [bucket, { outbox, meta }] of buckets.entries()) {
      const owner = ownerOf(activityId, expiresAtMs, buckets.length, bucket);
      for (let after = '0-0'; after !== '';) {
        after = await this.registry.run(dropRows, {
          keys: { outbox, meta },
          args: { owner, after, count: ROWS_A_CALL },
        });
      }
    }
  }

  /** Returns how often the payouts of a bucket were restored; -1 if there is no such bucket. Pass this number to `restore`. */
  repairsOf({ outbox, meta, grants }: BucketKeys): Promise<number> {
    const args = { group: PAYOUT_GROUP, repairs: -1, settled: 0, rows: [] };
    return this.registry.run(restorePayouts, { keys: { outbox, meta, grants }, args });
  }

  /**
   * Writes lost payouts of a bucket again.
   *
   * @param repairs number that `repairsOf` returned before the payouts were counted
   * @param settled number of lost payouts that were paid
   * @returns number of payouts that this call has written; fewer than `lost` if another process restores them at the same time
   */
  async restore({ outbox, meta, grants }: BucketKeys, repairs: number, settled: number, lost: readonly LostRow[]) {
    let [known, counted] = [repairs, settled];
    for (let at = 0; at === 0 || at < lost.length; at += IDS_A_CALL) {
      const rows = lost.slice(at, at + IDS_A_CALL).flatMap(({ userId, grant }) => [userId, grant]);
      if (known < 0 || (rows.length === 0 && counted === 0)) return at;
      const args = { group: PAYOUT_GROUP, repairs: known, settled: counted, rows };
      known = await this.registry.run(restorePayouts, { keys: { outbox, meta, grants }, args });
      if (known < 0) return at;
      counted = 0;
    }
    this.ring(outbox);
    return lost.length;
  }

  /**
   * Returns a page of dead letters.
   *
   * @param from the cursor that the previous page returned; undefined for the first page
   * @throws InvalidInputError if the cursor names a bucket that the activity does not have
   */
  async deadLetters({ buckets }: Layout, limit: number, from?: BucketPosition): Promise<Page<PayoutDeadLetter>> {
    let { bucket, at } = from ?? { bucket: 0, at: '0-0' };
    checkBucket(`${bucket}:${at}`, bucket, buckets.length);
    const items: PayoutDeadLetter[] = [];
    for (; bucket < buckets.length; bucket++, at = '0-0') {
      const { dead } = buckets[bucket] as BucketKeys;
      const args = { after: at, count: limit - items.length };
      const { rows } = await this.registry.run(listDead, { keys: { dead }, args });
      for (const row of rows) items.push(letterOf(bucket, row));
      const last = items.at(-1);
      if (last !== undefined && items.length === limit) return { items, nextCursor: last.id };
    }
    return { items };
  }

  replay(layout: Layout, ids: readonly string[] | undefined): Promise<number> {
    return this.change(layout, ids, 'replay', async ({ dead, outbox }, entries) => {
      const replayed = await this.registry.run(replayPayouts, { keys: { dead, outbox }, args: { ids: entries } });
      this.ring(outbox);
      return replayed;
    });
  }

  drop(layout: Layout, ids: readonly string[] | undefined): Promise<number> {
    return this.change(layout, ids, 'drop', ({ dead, meta }, entries) =>
      this.registry.run(dropPayouts, { keys: { dead, meta }, args: { ids: entries } }),
    );
  }

  /** At the end of a shutdown, wakes at once the payout runs that would be woken again when RING_MS is over. */
  private async ringLate(): Promise<void> {
    const late = [...this.rung].filter(([, again]) => again).map(([outbox]) => outbox);
    this.rung.clear();
    await Promise.all(late.map((outbox) => this.wake(outbox)));
  }

  /**
   * Replays or drops dead letters with the function `use`. @param ids ids of dead letters; undefined for all that a bucket has when it is
   * first read
   */
  private async change(layout: Layout, ids: readonly string[] | undefined, name: string, use: Change): Promise<number> {
    const steps = new Steps(`RedPacketPayouts.${name}${ids === undefined ? 'All' : ''}`);
    let changed = 0;
    const chosen = ids === undefined ? undefined : byBucket(ids);
    for (const [bucket, keys] of layout.buckets.entries()) {
      if (chosen === undefined) changed += await this.changeAll(keys, use, steps);
      const entries = chosen?.get(bucket) ?? [];
      for (let at = 0; at < entries.length; at += IDS_A_CALL) {
        changed += await steps.one(use(keysOf(layout, bucket), entries.slice(at, at + IDS_A_CALL)));
      }
    }
    return changed;
  }

  private async changeAll(keys: BucketKeys, use: Change, steps: Steps): Promise<number> {
    let [changed, after, until] = [0, '0-0', ''];
    for (;;) {
      const args = { after, count: IDS_A_CALL };
      const { newest, rows } = await steps.read(this.registry.run(listDead, { keys: { dead: keys.dead }, args }));
      // A replayed payout may become a dead letter again, with an id higher than `until`, so this loop skips it.
      if (until === '') until = newest;
      const found = rows.map(({ entryId }) => entryId).filter((id) => !isAfter(id, until));
      if (found.length > 0) changed += await steps.one(use(keys, found));
      if (found.length < rows.length || rows.length < IDS_A_CALL) return changed;
      after = found.at(-1) as string;
    }
  }
}

function letterOf(bucket: number, { entryId, error, attempts, firstSeenAtMs, fields }: DeadRow): PayoutDeadLetter {
  const deadAtMs = Number(entryId.split('-')[0]);
  return {
    id: `${bucket}:${entryId}`,
    payload: grantOf(fields),
    error,
    attemptsMade: attempts,
    firstSeenAtMs,
    deadAtMs,
  };
}

/** Groups ids of dead letters by bucket. @throws InvalidInputError for a text that is not such an id */
function byBucket(ids: readonly string[]): ReadonlyMap<number, string[]> {
  if (!Array.isArray(ids)) return refuse('ids', ids, 'an array of ids of dead-lettered payouts');
  const found = new Map<number, string[]>();
  for (const id of new Set(ids as readonly string[])) {
    const { bucket, at } = checkDeadId('id', id);
    found.set(bucket, [...(found.get(bucket) ?? []), at]);
  }
  return found;
}

/** Returns true if one id of a stream entry is higher than another. Each part of an id has up to 64 bits, so BigInt is needed. */
function isAfter(id: string, other: string): boolean {
  const [[ms = '', seq = ''], [otherMs = '', otherSeq = '']] = [id.split('-'), other.split('-')];
  return BigInt(ms) === BigInt(otherMs) ? BigInt(seq) > BigInt(otherSeq) : BigInt(ms) > BigInt(otherMs);
}
