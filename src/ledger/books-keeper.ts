import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { RedPacketService } from 'luanest/red-packet';
import type { Ledger } from './ledger.types';
import { LedgerHost } from './ledger-host';

const EVERY_MS = 2_000;
/** Maximum number of rains whose written refund is remembered. */
const MOST_NOTED = 10_000;

/**
 * Writes new fundings and refunds of rains into the ledger every two seconds, while this process has the ledger. So the view
 * `luanest.books` still shows a rain after Redis has forgotten it. If several processes have the ledger, each writes the same
 * entries, which is harmless.
 */
@Injectable()
export class BooksKeeper implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(BooksKeeper.name);
  /** Refund that this process has written, cents, by activity key. */
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

  /**
   * Writes the entries of all rains that Redis knows, except drafts, and those whose refund this process has already written.
   *
   * @throws the errors of Redis and of the ledger; calling again is safe
   */
  async keep(ledger: Pick<Ledger, 'note'>): Promise<void> {
    for (const activityId of await this.packets.activities()) {
      const status = await this.packets.status(activityId);
      // Nothing of a draft can be won or refunded, and it may expire without being opened.
      if (status === undefined || status.state === 'draft') continue;
      const { activityKey } = status;
      const { totalCents: fundedCents, refundedCents, createdAtMs, expiresAtMs } = status;
      if (this.noted.get(activityKey) === refundedCents) continue;
      await ledger.note({ activityKey, activityId, fundedCents, refundedCents, createdAtMs, expiresAtMs });
      if (this.noted.size >= MOST_NOTED) this.noted.clear();
      this.noted.set(activityKey, refundedCents);
    }
  }

  /** Runs one round. If Redis or the ledger is unavailable, a later round tries again. */
  private async tick(): Promise<void> {
    const ledger = this.host.current();
    if (ledger === undefined) return;
    try {
      await this.keep(ledger);
      this.lastProblem = undefined;
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (problem !== this.lastProblem)
        this.logger.warn(
          `Fundings and refunds could not all be checked or written to the ledger, so some may be missing there. A later round tries again. ${problem}`,
        );
      this.lastProblem = problem;
    }
  }
}
