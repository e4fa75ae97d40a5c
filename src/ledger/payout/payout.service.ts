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

/** Maximum number of payouts in flight: while one batch is booked, others are collected. */
const CONCURRENCY = 256;
/** Attempts of a payout. The pauses grow to 30 to 60 s, so the ledger may be unavailable for at least four hours. */
const ATTEMPTS = 500;

/** Runs the payouts while this process has the ledger, until the app shuts down. */
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

  onApplicationBootstrap(): void {
    this.host.onOpen((ledger) => {
      if (this.stopped) return;
      const payer = new LedgerPayer(this.packets, ledger, new Logger(LedgerPayer.name));
      const { payoutLeaseMs: leaseMs } = this.config.get('app', { infer: true });
      const options = { leaseMs, concurrency: CONCURRENCY, attempts: ATTEMPTS };
      this.run = this.payouts.run((payout) => payer.pay(payout), options);
    });
  }

  /** Stops the run, while Redis and the ledger are still open, so that payouts in flight may finish. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopped = true;
    await this.run?.stop();
  }
}
