import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { RedPacketPayouts, RedPacketService, type PayoutRun } from 'luanest/red-packet';
import type { AppConfigService } from '../../platform/config/load-config';
import { LedgerHost } from '../ledger-host';
import { LedgerPayer } from './ledger-payer';

/** Payouts in work at a time, of each activity: a batch is booked while the next one gathers. */
const CONCURRENCY = 256;
/** A ledger may be away for hours: at a minute's pause, some eight. */
const ATTEMPTS = 500;

/** Pays out from the moment this process has the ledger until the app shuts down. */
@Injectable()
export class PayoutService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private run: PayoutRun | undefined;
  private stopped = false;

  constructor(
    private readonly payouts: RedPacketPayouts,
    private readonly packets: RedPacketService,
    private readonly host: LedgerHost,
    @Inject(ConfigService) private readonly config: AppConfigService,
  ) {}

  /** Begins to pay, now or as soon as the ledger is here. */
  onApplicationBootstrap(): void {
    this.host.onOpen((ledger) => {
      if (this.stopped) return;
      const payer = new LedgerPayer(this.packets, ledger, new Logger(LedgerPayer.name));
      const { payoutLeaseMs: leaseMs } = this.config.get('app', { infer: true });
      const options = { leaseMs, concurrency: CONCURRENCY, attempts: ATTEMPTS, pollMs: 100 };
      this.run = this.payouts.run((payout) => payer.pay(payout), options);
    });
  }

  /** Finishes what is in hand while Redis and the ledger are still open. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopped = true;
    await this.run?.stop();
  }
}
