import type { Logger } from '@nestjs/common';
import type { ActivityStatus } from '../red-packet.types';

/** Logs once when an activity has payouts that nobody makes, and once when that is over. */
export class Debts {
  private readonly warned = new Map<string, 'dead' | 'overdue'>();

  constructor(private readonly logger: Pick<Logger, 'log' | 'warn'>) {}

  /** Looks at an activity; undefined for one that is gone. */
  see(activityId: string, status: ActivityStatus | undefined): void {
    const name = JSON.stringify(activityId);
    const problem = status === undefined ? undefined : problemOf(status);
    const before = this.warned.get(activityId);
    if (problem === before) return;
    if (problem === undefined || status === undefined) {
      this.warned.delete(activityId);
      this.logger.log(`Activity ${name} is settled, or gone.`);
      return;
    }
    this.warned.set(activityId, problem);
    const { deadPayouts, outboxLength, remainingPackets, state } = status;
    const count = `${outboxLength} open payouts, ${deadPayouts} dead ones, ${remainingPackets} packets left, state ${state}`;
    this.logger.warn(
      problem === 'dead'
        ? `Activity ${name} has dead payouts, whose winners are not paid (${count}). Replay them, or drop those that were paid otherwise.`
        : `The retention of activity ${name} is over and Redis keeps it, since it is not settled (${count}). Close it and settle its payouts, or give them up with forget().`,
    );
  }
}

function problemOf({ deadPayouts, overdue, settled, state }: ActivityStatus): 'dead' | 'overdue' | undefined {
  if (settled || state === 'draft') return undefined;
  if (overdue) return 'overdue';
  return deadPayouts > 0 ? 'dead' : undefined;
}
