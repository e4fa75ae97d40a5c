import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { RedPacketService } from 'luanest/red-packet';
import type { Ledger } from './ledger.types';
import { LedgerHost } from './ledger-host';

const EVERY_MS = 2_000;
const MOST_NOTED = 10_000;

/**
 * Writes the funding and the refund of each rain into the ledger, while this process has the ledger. So the books of a rain
 * can be read from SQL alone after Redis has forgotten it (view `luanest.books`). Each process that has the ledger writes
 * them; writing the same twice is harmless.
 */
@Injectable()
export class BooksKeeper implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(BooksKeeper.name);
  /** Refund that was written last, cents, by activity key. */
  private readonly noted = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  private keeping: Promise<void> | undefined;
  private lastProblem: string | undefined;

  constructor(
    private readonly packets: RedPacketService,
    private readonly host: LedgerHost,
  ) {}

  onApplicationBootstrap(): void {
    // No round starts before the previous one has ended.
    const tick = (): void => void (this.keeping ??= this.tick().finally(() => (this.keeping = undefined)));
    this.timer = setInterval(tick, EVERY_MS).unref();
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.keeping;
  }

  /** Writes each rain that Redis knows. @throws errors of Redis and the ledger; calling again is safe */
  async keep(ledger: Pick<Ledger, 'note'>): Promise<void> {
    for (const activityId of await this.packets.activities()) {
      const status = await this.packets.status(activityId);
      // The expiry of a draft is not known yet, and it is part of the key.
      if (status === undefined || status.state === 'draft') continue;
      const { activityKey } = status;
      const { totalCents: fundedCents, refundedCents, createdAtMs, expiresAtMs } = status;
      if (this.noted.get(activityKey) === refundedCents) continue;
      await ledger.note({ activityKey, activityId, fundedCents, refundedCents, createdAtMs, expiresAtMs });
      if (this.noted.size >= MOST_NOTED) this.noted.clear();
      this.noted.set(activityKey, refundedCents);
    }
  }

  /** Redis or the ledger may be unavailable for a while; the next round writes what this one did not. */
  private async tick(): Promise<void> {
    const ledger = this.host.current();
    if (ledger === undefined) return;
    try {
      await this.keep(ledger);
      this.lastProblem = undefined;
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (problem !== this.lastProblem) this.logger.warn(`Cannot write fundings and refunds to the ledger: ${problem}`);
      this.lastProblem = problem;
    }
  }
}
