import { Logger } from '@nestjs/common';
import type { ScriptRegistry } from 'luanest/script-registry';
import { keysOf, type Layout } from '../buckets/layout';
import { checkEntryId, refuse, type Placed } from '../red-packet.input';
import { CHUNK_PACKETS, claimPayoutRows, settlePayoutRows } from '../red-packet.scripts';
import type { PayoutRow } from '../red-packet.types';
import { PAYOUT_GROUP } from './creation';

/** Who takes payout rows, and how many for how long. */
export interface Claim {
  readonly worker: string;
  readonly leaseMs: number;
  readonly count: number;
}

/** Hands payout rows to workers, whichever bucket they are in. */
export class Payouts {
  private readonly logger = new Logger('RedPacketService');
  /** The bucket to begin with: in turn, so that no bucket's winners wait for those of another. */
  private turn = 0;

  constructor(private readonly registry: ScriptRegistry) {}

  /** Takes rows for a worker. */
  async claim(layout: Layout, { worker, leaseMs, count }: Claim): Promise<PayoutRow[]> {
    const { activityId, buckets } = layout;
    const rows: PayoutRow[] = [];
    const first = this.turn++;
    for (let i = 0; i < buckets.length && rows.length < count; i++) {
      const bucket = (first + i) % buckets.length;
      const { outbox } = keysOf(layout, bucket);
      const args = { group: PAYOUT_GROUP, worker, leaseMs, count: count - rows.length };
      const found = await this.registry.run(claimPayoutRows, { keys: { outbox }, args });
      const payable = found.filter(isPayable);
      if (payable.length < found.length) {
        this.logger.warn(
          `${found.length - payable.length} entries in the outbox of ${JSON.stringify(activityId)} are no payout rows; they stay there.`,
        );
      }
      for (const row of payable) {
        const entryId = buckets.length === 1 ? row.entryId : `${row.entryId}@${bucket}`;
        rows.push({ activityId, ...row, entryId });
      }
    }
    return rows;
  }

  /** Deletes rows that are booked. Answers how many were still there. */
  async settle(layout: Layout, entryIds: readonly string[]): Promise<number> {
    const places = entryIds.map((entryId) => placeIn(layout, entryId));
    let settled = 0;
    for (const [bucket, { outbox }] of layout.buckets.entries()) {
      const ids = places.filter((place) => place.bucket === bucket).map(({ at }) => at);
      for (let at = 0; at < ids.length; at += CHUNK_PACKETS) {
        const args = { group: PAYOUT_GROUP, entryIds: ids.slice(at, at + CHUNK_PACKETS) };
        settled += await this.registry.run(settlePayoutRows, { keys: { outbox }, args });
      }
    }
    return settled;
  }
}

function placeIn({ buckets }: Layout, entryId: string): Placed {
  const place = checkEntryId(entryId);
  return place.bucket < buckets.length
    ? place
    : refuse('entryId', entryId, 'The activity has no such bucket. Give an entryId of its own claimPayouts.');
}

/** Whether a row is one that a grab wrote. */
function isPayable({ userId, packetId, amountCents, grantedAtMs }: Omit<PayoutRow, 'activityId'>): boolean {
  return userId !== '' && packetId !== '' && Number.isSafeInteger(amountCents) && amountCents > 0 && grantedAtMs > 0;
}
