import type { Logger } from '@nestjs/common';
import { NotSentError, ScriptRefusedError, UnknownOutcomeError } from 'luanest/script-registry';
import { thrownText, time, type Timer } from '../../../internal/src';
import type { ActivityIndex } from './activity-index';

/** Shortest time between two wakes of one activity by one process, ms. `close` does not wait for it. */
const SAME_MS = 1_000;
/** Shortest time between two calls, ms. `close` does not wait for it. */
const CALL_MS = 50;
/** Most activities in one call. wake-activities.lua takes no more. */
const MOST = 1_000;
/** For how long after a win a repeat of the grab wakes the activity too, ms. */
const REPEATED_MS = 60_000;

// See DECISIONS.md: winners-wake-payout-runs
/**
 * Wakes activities that have payouts, or may have them: puts them into a list in Redis that payout runs read. Sends the first
 * wake soon, and then at most one a second for each activity. A call that may not have reached Redis, or was refused, is repeated
 * until the process shuts down.
 */
export class Wakes {
  /** Activities to wake. */
  private readonly due = new Set<string>();
  /** When an activity that was woken may be woken again, by `time.monotonicMs()`. Oldest first. */
  private readonly restsUntil = new Map<string, number>();
  private timer: Timer | undefined;
  private closed = false;
  private problem = '';

  constructor(
    private readonly index: Pick<ActivityIndex, 'wake'>,
    private readonly logger: Pick<Logger, 'log' | 'warn'>,
  ) {}

  wake(activityId: string): void {
    this.due.add(activityId);
    if (this.timer === undefined && !this.closed) this.send();
  }

  /**
   * Wakes an activity if one of its packets was won within the last minute, by the clock of this process. The process that won it
   * may have died, or its reply may have been lost, before that process woke the activity.
   */
  wakeAfter(activityId: string, grantedAtMs: number): void {
    if (time.nowMs() - grantedAtMs < REPEATED_MS) this.wake(activityId);
  }

  /** Sends what waits. Later wakes are ignored. */
  close(): void {
    this.closed = true;
    time.clearTimer(this.timer);
    this.restsUntil.clear();
    while (this.due.size > 0) this.send();
  }

  private send(): void {
    const now = time.monotonicMs();
    for (const [activityId, until] of this.restsUntil) {
      if (until > now) break;
      this.restsUntil.delete(activityId);
    }
    const ids: string[] = [];
    for (const activityId of this.due) {
      if (ids.length === MOST) break;
      if (!this.restsUntil.has(activityId)) ids.push(activityId);
    }
    for (const activityId of ids) {
      this.due.delete(activityId);
      this.restsUntil.set(activityId, now + SAME_MS);
    }
    this.timer = undefined;
    if (!this.closed && this.due.size + ids.length > 0) {
      this.timer = time.setTimer(() => this.send(), CALL_MS);
      this.timer.unref();
    }
    if (ids.length === 0) return;
    // No caller waits for this. A run that is not woken finds the activity by its search, but later.
    this.index.wake(ids).then(
      () => this.report(''),
      (error: unknown) => {
        const reached = !(error instanceof NotSentError || error instanceof UnknownOutcomeError);
        if (reached) this.report(thrownText(error));
        // If the script failed, a repeat would probably fail too.
        if (!reached || error instanceof ScriptRefusedError) for (const activityId of ids) this.wake(activityId);
      },
    );
  }

  /** Logs a problem when it begins or changes, and its end. @param problem '' if a call succeeded */
  private report(problem: string): void {
    if (problem === this.problem) return;
    this.problem = problem;
    if (problem === '') this.logger.log('Activities with winners are again put into the list that payout runs read.');
    else {
      this.logger.warn(
        `Activities could not be put into the list that payout runs read, so winners may be paid minutes late. ${problem}`,
      );
    }
  }
}
