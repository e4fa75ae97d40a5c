import type { Logger } from '@nestjs/common';
import { pause, thrownText, time } from '../../../internal/src';
import type { Replicated } from '../replicated';
import { confirmRow } from './payout.scripts';
import { fieldsOf, type PayoutRow } from './payout-row';

/** Pause after too few replicas have confirmed the payouts of a stream, ms. WAIT blocks a connection that grabs need, too. */
const PAUSE_MS = 1_000;
/** A stream without another failure for this time no longer counts as waiting for replicas, ms. */
const FORGET_MS = 30_000;

/**
 * `outbox`: key of a stream of payouts. `waited`: key to which the check that replicas have a payout writes. The check must write
 * something, because WAIT covers only writes of its own connection.
 */
export interface CheckedOutbox {
  readonly outbox: string;
  readonly waited: string;
}

// See DECISIONS.md: paid-when-replicas-have-it
/**
 * Checks that enough replicas have a payout before it is paid, because a failover could lose it. Payouts that are checked at the same time
 * share one WAIT. Logs when payouts wait for replicas, and when none waits any more.
 */
export class DurableRows {
  /** End of the last failed check of each stream that waits for replicas, by the monotonic clock, ms. */
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
   * Checks a payout. Never rejects.
   *
   * @param signal AbortSignal that ends the pause after a failed check
   * @returns `durable`: enough replicas have the payout; `waiting`: too few replicas confirmed this in time, or Redis failed; `gone`: the
   *   master has no such payout
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
        'The replicas of Redis confirm writes again, so the payouts of red packets that waited for them are being paid now.',
      );
  }
}
