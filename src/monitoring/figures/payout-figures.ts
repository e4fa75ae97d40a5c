import { Injectable } from '@nestjs/common';
import { type ActivityStatus, RedPacketPayouts, type PayoutStats } from 'luanest/red-packet';
import type { LedgerTotals } from '../../ledger/ledger.types';

/** How the payouts of a rain stand, all processes together. */
export interface PayoutFigures extends PayoutStats {
  /** Granted packets that the ledger has not booked yet; undefined without a ledger. */
  readonly behind: number | undefined;
}

const NONE: PayoutStats = { open: 0, pending: 0, oldestMs: undefined, deadLetters: 0, consumers: 0 };

/** The one place that says how the payouts stand: by the outbox' consumers and by the ledger. */
@Injectable()
export class PayoutFiguresService {
  constructor(private readonly payouts: RedPacketPayouts) {}

  /** How those of a rain stand. */
  async of(status: ActivityStatus, ledger: LedgerTotals | undefined): Promise<PayoutFigures> {
    return {
      ...((await this.payouts.stats(status.activityId)) ?? NONE),
      behind: ledger && Math.max(0, status.grantedPackets - ledger.rows - ledger.conflicts),
    };
  }
}
