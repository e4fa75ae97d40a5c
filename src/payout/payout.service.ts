import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { RedPacketService } from 'luanest/red-packet';
import { randomBytes } from 'node:crypto';
import { LedgerHost } from '../ledger/ledger-host';
import { PayoutWorker } from './payout-worker';

/** Age at which a payout may be taken over, as the app was configured. */
export class PayoutSettings {
  /** @param leaseMs ms */
  constructor(readonly leaseMs: number) {}
}

/** Runs the payout worker from the moment this process has the ledger until the app shuts down. */
@Injectable()
export class PayoutService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private worker: PayoutWorker | undefined;
  private stopped = false;

  constructor(
    private readonly packets: RedPacketService,
    private readonly host: LedgerHost,
    private readonly settings: PayoutSettings,
  ) {}

  /** Begins to pay, now or as soon as the ledger is here. */
  onApplicationBootstrap(): void {
    const options = { worker: `${process.pid}-${randomBytes(4).toString('hex')}`, leaseMs: this.settings.leaseMs };
    this.host.onOpen((ledger) => {
      if (this.stopped) return;
      this.worker = new PayoutWorker(this.packets, ledger, options, new Logger(PayoutWorker.name));
      this.worker.start();
    });
  }

  /** Finishes the batch in hand while Redis and the ledger are still open. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopped = true;
    await this.worker?.stop();
  }
}
