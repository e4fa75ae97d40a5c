import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { RedPacketService } from 'luanest/red-packet';
import type { Ledger } from './ledger.types';
import { LedgerHost } from './ledger-host';

const EVERY_MS = 2_000;
const MOST_NOTED = 10_000;

/**
 * Notes in the ledger what each rain was funded with and what was refunded, while this process has the ledger. After Redis
 * has forgotten a rain, its books can still be read from SQL alone (view `luanest.books`). Every process that has the
 * ledger does it; to note the same twice is harmless.
 */
@Injectable()
export class BooksKeeper implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(BooksKeeper.name);
  /** By activity key: the refund that is noted. */
  private readonly noted = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  private keeping: Promise<void> | undefined;
  private lastProblem: string | undefined;

  constructor(
    private readonly packets: RedPacketService,
    private readonly host: LedgerHost,
  ) {}

  onApplicationBootstrap(): void {
    // A round that takes long is not overtaken by the next one.
    const tick = (): void => void (this.keeping ??= this.tick().finally(() => (this.keeping = undefined)));
    this.timer = setInterval(tick, EVERY_MS).unref();
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.keeping;
  }

  /** Notes every rain that Redis knows. @throws what Redis and the ledger throw; calling again is safe */
  async keep(ledger: Pick<Ledger, 'note'>): Promise<void> {
    for (const activityId of await this.packets.activities()) {
      const status = await this.packets.status(activityId);
      // The end of a draft's life is not known yet.
      if (status === undefined || status.state === 'draft') continue;
      const { activityKey } = status;
      const { totalCents: fundedCents, refundedCents, createdAtMs, expiresAtMs } = status;
      if (this.noted.get(activityKey) === refundedCents) continue;
      await ledger.note({ activityKey, activityId, fundedCents, refundedCents, createdAtMs, expiresAtMs });
      if (this.noted.size >= MOST_NOTED) this.noted.clear();
      this.noted.set(activityKey, refundedCents);
    }
  }

  /** Redis or the ledger may be unavailable for a while; the next round notes what this one did not. */
  private async tick(): Promise<void> {
    const ledger = this.host.current();
    if (ledger === undefined) return;
    try {
      await this.keep(ledger);
      this.lastProblem = undefined;
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (problem !== this.lastProblem) this.logger.warn(`Fundings and refunds are not noted: ${problem}`);
      this.lastProblem = problem;
    }
  }
}
