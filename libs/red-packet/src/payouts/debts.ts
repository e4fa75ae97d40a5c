import type { Logger } from '@nestjs/common';
import { oneLine } from '../../../internal/src';
import type { ActivityStatus } from '../red-packet.types';

/**
 * Reason why an activity is not finished. `dead-letters`: some payouts are dead-lettered. `overdue`: the retention is over, but the
 * activity still owes a payout or a refund.
 */
type Problem = 'dead-letters' | 'overdue';

/** Logs when an activity cannot be finished, and when the problem is over. */
export class Debts {
  private readonly warned = new Map<string, Problem>();

  constructor(private readonly logger: Pick<Logger, 'log' | 'warn'>) {}

  /** Logs what changed since the last check of an activity. @param status undefined if Redis no longer has the activity */
  check(activityId: string, status: ActivityStatus | undefined): void {
    const name = oneLine(JSON.stringify(activityId));
    const problem = status === undefined ? undefined : problemOf(status);
    const before = this.warned.get(activityId);
    if (problem === before) return;
    if (problem === undefined || status === undefined) {
      this.warned.delete(activityId);
      this.logger.log(`Activity ${name} ${recoveryOf(status)}.`);
      return;
    }
    this.warned.set(activityId, problem);
    const { deadLetters, openPayouts, remainingPackets, unreportedPackets, state } = status;
    const counts =
      `open payouts: ${openPayouts}, dead-lettered payouts: ${deadLetters}, packets left: ${remainingPackets}, ` +
      `refunded packets not reported to onClosed: ${unreportedPackets}, state: ${state}`;
    this.logger.warn(
      problem === 'dead-letters'
        ? `Activity ${name} has dead-lettered payouts, so their winners may not be paid (${counts}). ` +
            'Replay these payouts, or drop those that you paid by other means.'
        : `Activity ${name} is older than its retention, but stays in Redis, because some of its money is not paid or refunded yet ` +
            `(${counts}). Close the activity, and replay or drop its dead-lettered payouts. ` +
            'To give up the money that is not paid, close it and call forget().',
    );
  }
}

/** Returns the end of the log line `Activity <id> ...` for a problem that is over. */
function recoveryOf(status: ActivityStatus | undefined): string {
  if (status === undefined) return 'is no longer in Redis';
  if (status.settled) return 'has paid or given up all of its money, so its data in Redis will expire';
  return status.overdue ? 'has paid all of its money' : 'has no dead-lettered payouts any more';
}

function problemOf(status: ActivityStatus): Problem | undefined {
  const { deadLetters, openPayouts, overdue, remainingPackets, settled, state, unreportedPackets } = status;
  // A sum could hide a debt, because the number of packets left may be negative if Redis has lost a bucket.
  const owes = [deadLetters, openPayouts, remainingPackets, unreportedPackets].some((count) => count > 0);
  if (settled || state === 'draft' || !owes) return undefined;
  if (overdue) return 'overdue';
  return deadLetters > 0 ? 'dead-letters' : undefined;
}
