import type { PayoutRow } from '../../../src/ledger/ledger.types';

/** The ledger of one activity as a pair of maps: what the SQL one has to agree with. */
export class LedgerModel {
  private readonly byPacket = new Map<string, PayoutRow>();
  private readonly byUser = new Map<string, PayoutRow>();

  /** Books a batch row by row. */
  credit(rows: readonly PayoutRow[]): { credited: number; repeated: number; conflicts: number } {
    const result = { credited: 0, repeated: 0, conflicts: 0 };
    for (const row of rows) {
      const booked = this.byPacket.get(row.packetId);
      if (booked === undefined && !this.byUser.has(row.userId)) {
        this.byPacket.set(row.packetId, row);
        this.byUser.set(row.userId, row);
        result.credited += 1;
      } else if (booked?.userId === row.userId && booked.amountCents === row.amountCents) {
        result.repeated += 1;
      } else {
        result.conflicts += 1;
      }
    }
    return result;
  }

  /** Rows, users and cents booked. */
  totals(): { rows: number; users: number; cents: number } {
    const cents = [...this.byPacket.values()].reduce((sum, row) => sum + row.amountCents, 0);
    return { rows: this.byPacket.size, users: this.byUser.size, cents };
  }

  /** Cents of each user that was paid. */
  balances(): Map<string, number> {
    return new Map([...this.byUser].map(([userId, row]) => [userId, row.amountCents]));
  }
}
