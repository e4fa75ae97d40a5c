import type { Payout, RedPacketService } from 'luanest/red-packet';
import type { Conflict, Ledger } from '../ledger.types';

/** Maximum number of rows of one transaction. The embedded ledger blocks the process while it books the rows. */
const BATCH = 100;

interface Waiting {
  readonly payout: Payout;
  readonly resolve: (conflict: Conflict | undefined) => void;
  readonly reject: (error: unknown) => void;
}

interface PayerLog {
  warn(message: string): void;
}

/** Books payouts in the ledger. Payouts that arrive together share transactions, of up to 100 payouts. */
export class LedgerPayer {
  private readonly waiting: Waiting[] = [];
  private booking = false;

  constructor(
    private readonly packets: Pick<RedPacketService, 'conflict'>,
    private readonly ledger: Pick<Ledger, 'credit'>,
    private readonly logger: PayerLog,
  ) {}

  /**
   * Books a payout; from its third attempt on, in a transaction of its own. If the ledger refuses it, voids the grant in Redis.
   * Harmless twice.
   *
   * @throws the errors of the ledger and of RedPacketService.conflict(); calling again is safe
   */
  async pay(payout: Payout): Promise<void> {
    // From the third attempt on, because an invalid payout makes its whole transaction fail.
    const conflict =
      payout.attempt < 3 ? await this.together(payout) : (await this.ledger.credit([payout])).conflicts[0];
    if (conflict === undefined) return;
    const { activityId, userId, packetId } = payout;
    const { reason, paid } = conflict;
    // The log does not name the user. The table luanest.payout_conflicts does.
    this.logger.warn(
      `Did not pay packet ${JSON.stringify(packetId)} of ${JSON.stringify(activityId)}: the ledger has another payout of this ${reason}. See the table ` +
        'luanest.payout_conflicts.',
    );
    await this.packets.conflict(activityId, { userId, packetId, ...(paid && { paid }) });
  }

  private together(payout: Payout): Promise<Conflict | undefined> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ payout, resolve, reject });
      if (this.booking) return;
      this.booking = true;
      // After this turn of the event loop, which may bring further payouts.
      setImmediate(() => void this.book());
    });
  }

  private async book(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, BATCH);
      try {
        const { conflicts } = await this.ledger.credit(batch.map(({ payout }) => payout));
        const found = new Map(conflicts.map((conflict) => [conflict.row, conflict]));
        for (const { payout, resolve } of batch) resolve(found.get(payout));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.booking = false;
  }
}
