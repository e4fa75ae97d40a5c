import type { Logger } from '@nestjs/common';
import { pause, thrownText, time } from '../../../internal/src';
import type { Replicated } from '../replicated';
import { confirmRow } from './payout.scripts';
import { fieldsOf, type PayoutRow } from './payout-row';

/**
 * Pause before the next check after too few replicas have confirmed the rows of an outbox, ms. There is a pause because WAIT blocks a
 * connection that grabs need too.
 */
const PAUSE_MS = 1_000;
/** Time without another failure after which an outbox no longer counts as waiting for replicas, ms. */
const FORGET_MS = 30_000;

/**
 * Key of an outbox, and key to which the check of a row writes. The check needs a write, because WAIT covers only writes of its own
 * connection.
 */
export interface CheckedOutbox {
  readonly outbox: string;
  readonly waited: string;
}

// See DECISIONS.md: paid-when-replicas-have-it
/**
 * Checks that enough replicas have a payout row. Only then may it be paid, because a failover could lose the row. Rows that are
 * checked at the same time share one WAIT. Logs a warning when rows wait for replicas, and a line when no rows wait any more.
 */
export class DurableRows {
  /** When the last failed check of each outbox ended, by the monotonic clock, ms. Has only outboxes that wait for replicas. */
  private readonly failed = new Map<string, number>();

  constructor(
    private readonly replicated: Replicated,
    private readonly logger: Pick<Logger, 'log' | 'warn'>,
  ) {}

  /** True if there are replicas to wait for. */
  get isNeeded(): boolean {
    return this.replicated.replicas > 0;
  }

  /**
   * Checks a row. Never rejects.
   *
   * @param signal ends the pause that follows a failed check of this outbox
   * @returns `durable`: enough replicas have the row; `waiting`: too few replicas confirmed it in time, or Redis failed; `gone`: the
   *   master has no such row
   */
  async check(
    { outbox, waited }: CheckedOutbox,
    row: PayoutRow,
    rowId: string,
    signal: AbortSignal,
  ): Promise<'durable' | 'waiting' | 'gone'> {
    const failedAt = this.failed.get(outbox);
    const left = failedAt === undefined ? 0 : failedAt + PAUSE_MS - time.monotonicMs();
    if (left > 0) await pause(left, { signal, ref: false });
    if (signal.aborted) return 'waiting';
    const args = { rowId, ...fieldsOf(row) };
    let problem = '';
    try {
      const { result, confirmed } = await this.replicated.run(confirmRow, { keys: { outbox, waited }, args });
      if (confirmed || !result) this.passed(outbox);
      if (!result) return 'gone';
      if (confirmed) return 'durable';
    } catch (error) {
      problem = ` ${thrownText(error)}`;
    }
    if (this.failed.size === 0) {
      this.logger.warn(
        `Payouts of red packets wait, because fewer than ${this.replicated.replicas} replicas of Redis have confirmed them (option ` +
          `replicas). They are paid when the replicas have them. Check that the replicas are connected and do not lag.${problem}`,
      );
    }
    this.failed.set(outbox, time.monotonicMs());
    return 'waiting';
  }

  private passed(outbox: string): void {
    if (this.failed.size === 0) return;
    this.failed.delete(outbox);
    for (const [other, failedAt] of this.failed) {
      if (time.monotonicMs() - failedAt > FORGET_MS) this.failed.delete(other);
    }
    if (this.failed.size === 0)
      this.logger.log(
        'The replicas of Redis confirm payouts of red packets again, so the payouts that waited are paid.',
      );
  }
}
