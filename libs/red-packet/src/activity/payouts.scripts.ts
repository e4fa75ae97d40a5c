import { defineScript, int, list, str } from 'luanest/script-registry';
import type { PayoutRow } from '../red-packet.types';
import { claimPayoutsLua, settlePayoutsLua } from '../scripts/generated';
import { ALONE, RELEASES } from '../scripts/parts.scripts';

export const claimPayoutRows = defineScript({
  name: 'red-packet.claim-payouts',
  source: claimPayoutsLua,
  keys: ['outbox'],
  args: { group: str, worker: str, leaseMs: int, count: int },
  flags: RELEASES,
  group: ALONE,
  reply: (fields: string[]) => {
    const rows: Omit<PayoutRow, 'activityId'>[] = [];
    for (let i = 0; i + 4 < fields.length; i += 5) {
      const [entryId = '', userId = '', packetId = '', cents, at] = fields.slice(i, i + 5);
      rows.push({ entryId, userId, packetId, amountCents: Number(cents), grantedAtMs: Number(at) });
    }
    return rows;
  },
});

export const settlePayoutRows = defineScript({
  name: 'red-packet.settle-payouts',
  source: settlePayoutsLua,
  keys: ['outbox'],
  args: { group: str, entryIds: list(str) },
  flags: RELEASES,
  group: ALONE,
  reply: (settled: number) => settled,
});
