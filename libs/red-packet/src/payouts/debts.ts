import type { Logger } from '@nestjs/common';
import type { ActivityStatus } from '../red-packet.types';

type Problem = 'dead-letters' | 'overdue';

/** Logs once when payouts of an activity stand still, and once when that is over. */
export class Debts {
  private readonly warned = new Map<string, Problem>();

  constructor(private readonly logger: Pick<Logger, 'log' | 'warn'>) {}

  /** Compares an activity with its last state. @param status undefined if Redis no longer has the activity */
  check(activityId: string, status: ActivityStatus | undefined): void {
    const name = JSON.stringify(activityId);
    const problem = status === undefined ? undefined : problemOf(status);
    const before = this.warned.get(activityId);
    if (problem === before) return;
    if (problem === undefined || status === undefined) {
      this.warned.delete(activityId);
      this.logger.log(`Activity ${name} ${recoveryOf(status)}.`);
      return;
    }
    this.warned.set(activityId, problem);
    const { deadLetters, outboxLength, remainingPackets, state } = status;
    const counts = `${outboxLength} open payouts, ${deadLetters} dead-lettered payouts, ${remainingPackets} packets left, state ${state}`;
    this.logger.warn(
      problem === 'dead-letters'
        ? `Activity ${name} has dead-lettered payouts: their winners are not paid (${counts}). Replay them, or drop those that were paid by other means.`
        : `The retention of activity ${name} is over, but it is not settled, so Redis keeps it (${counts}). Close it and settle its payouts, or give up what is owed with forget().`,
    );
  }
}

function recoveryOf(status: ActivityStatus | undefined): string {
  if (status === undefined) return 'is no longer in Redis';
  return status.settled ? 'is settled' : 'has no dead-lettered payouts any more';
}

function problemOf({ deadLetters, overdue, settled, state }: ActivityStatus): Problem | undefined {
  if (settled || state === 'draft') return undefined;
  if (overdue) return 'overdue';
  return deadLetters > 0 ? 'dead-letters' : undefined;
}
