import type { Payout, RedPacketService } from 'luanest/red-packet';
import type { Conflict, Ledger } from '../ledger.types';

/** Rows of one transaction. Few, since an embedded ledger blocks the process while it books them. */
const BATCH = 100;

interface Waiting {
  readonly payout: Payout;
  readonly resolve: (conflict: Conflict | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** What the payer tells about itself. */
interface PayerLog {
  warn(message: string): void;
}

/** Pays from the outbox into the ledger: payouts that come together are one transaction. */
export class LedgerPayer {
  private readonly waiting: Waiting[] = [];
  private booking = false;

  constructor(
    private readonly packets: Pick<RedPacketService, 'conflict'>,
    private readonly ledger: Pick<Ledger, 'credit'>,
    private readonly logger: PayerLog,
  ) {}

  /**
   * Pays, or gives back what the ledger will not pay; harmless twice.
   *
   * @throws what the ledger and red-packet throw; calling again is safe
   */
  async pay(payout: Payout): Promise<void> {
    // One that fails again goes alone: if it is at fault, it takes nobody along. Once may have been the ledger's fault.
    const conflict =
      payout.attempt < 3 ? await this.together(payout) : (await this.ledger.credit([payout])).conflicts[0];
    if (conflict === undefined) return;
    const { activityId, userId, packetId } = payout;
    const { reason, paid } = conflict;
    // Who it was is in the ledger's table of conflicts; logs name no users.
    this.logger.warn(`Refused to pay ${packetId} of ${activityId} once more: the ${reason} has been paid already`);
    await this.packets.conflict(activityId, { userId, packetId, ...(paid && { paid }) });
  }

  private together(payout: Payout): Promise<Conflict | undefined> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ payout, resolve, reject });
      if (this.booking) return;
      this.booking = true;
      // Behind those that came with it.
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
