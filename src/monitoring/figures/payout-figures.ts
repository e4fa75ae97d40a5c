import { Injectable } from '@nestjs/common';
import { type ActivityStatus, RedPacketPayouts } from 'luanest/red-packet';
import type { LedgerTotals } from '../../ledger/ledger.types';

type PayoutStats = NonNullable<Awaited<ReturnType<RedPacketPayouts['stats']>>>;

/** State of the payouts of a rain, of all processes together. */
export interface PayoutFigures extends PayoutStats {
  /** Granted packets less the payouts that the ledger paid or refused, at least 0; undefined if the ledger could not be read. */
  readonly behind: number | undefined;
}

const NONE: PayoutStats = { open: 0, deadLetters: 0 };

/** Reads the state of payouts from the outbox and the ledger. */
@Injectable()
export class PayoutFiguresService {
  constructor(private readonly payouts: RedPacketPayouts) {}

  /** Reads the state of the payouts of a rain; zeros if Redis has forgotten the rain. */
  async of(status: ActivityStatus, ledger: LedgerTotals | undefined): Promise<PayoutFigures> {
    return {
      ...((await this.payouts.stats(status.activityId)) ?? NONE),
      behind: ledger && Math.max(0, status.grantedPackets - ledger.rows - ledger.conflicts),
    };
  }
}
