import { createHash } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { InvalidOptionError, time } from '../../../internal/src';
import { type DelayedTaskService, retryLater, type ScheduleOptions } from 'luanest/delayed-task';
import { Debts } from '../payouts/debts';
import type { RedPacketServiceOptions } from '../red-packet.options';
import type { Closed, Lifecycle } from './lifecycle';
import { unreportedOf } from './status';

/** After this many failed attempts, a task becomes a dead letter. */
const ATTEMPTS = 1_000;
/**
 * Pauses between attempts: 1 s, then twice as long each time, up to 60 s. Each pause is shortened by up to half at random, so 1,000 failed
 * attempts take about 12 hours.
 */
const BACKOFF = { delayMs: 1_000, maxDelayMs: 60_000 };
/** Longest pause between two checks if an activity still owes a payout or a refund, ms. */
const OWED_MS = 600_000;

/**
 * Payload of the closing task and of the settling task. Only the settling task has `sinceMs`: when its first run was scheduled, ms since
 * 1970 by the clock of the process that scheduled it.
 */
interface ActivityTask {
  readonly activityId: string;
  readonly sinceMs?: number;
}

// See DECISIONS.md: tasks-close-and-settle
/**
 * Ends activities with two delayed tasks. The closing task closes an activity at its end, and calls `onClosed`. If the activity still owes
 * a payout or a refund, the settling task checks it repeatedly until it owes nothing, and then sets the TTL of its keys. Without
 * `DelayedTaskModule`, no task is scheduled.
 */
export class Closing {
  private readonly name: string;
  private readonly settling: string;
  private readonly logger = new Logger(Closing.name);
  private readonly debts = new Debts(new Logger('RedPacketPayouts'));
  /** True once this process has logged that its option `onClosed` is missing. */
  private isLogged = false;

  /** @param registry name of the ScriptRegistry, '' for the one without a name. The names of the tasks contain it */
  constructor(
    private readonly lifecycle: Lifecycle,
    private readonly tasks: DelayedTaskService | undefined,
    private readonly options: Pick<RedPacketServiceOptions, 'onClosed'>,
    registry: string,
  ) {
    const suffix = registry === '' ? '' : `:${registry}`;
    [this.name, this.settling] = [`red-packet.close${suffix}`, `red-packet.settle${suffix}`];
  }

  /** Registers the handlers of the tasks. @throws InvalidOptionError if there is `onClosed` but no DelayedTaskModule */
  register(): void {
    if (this.options.onClosed !== undefined && this.tasks === undefined) {
      throw new InvalidOptionError(
        'RedPacketModule: onClosed needs delayed tasks, but DelayedTaskModule is not imported. Import DelayedTaskModule.forRoot() in the ' +
          'root module, without isGlobal: false, or leave onClosed out.',
      );
    }
    this.tasks?.handle(this.name, (task, { attempt }) => this.close((task as ActivityTask).activityId, attempt));
    this.tasks?.handle(this.settling, (task) => this.settle(task as ActivityTask));
  }

  /**
   * Schedules the task that closes an activity at `endsAtMs`. A repeated call schedules no second task.
   *
   * @param onConflict rule for an existing task of this activity. Pass `replace` for a new activity, because an earlier one with the same
   *   id may have left a dead letter. Pass `keep` for an open activity, whose task may be running
   * @throws the errors of ScriptRegistry.run()
   */
  async schedule(activityId: string, endsAtMs: number, onConflict: 'replace' | 'keep' = 'replace'): Promise<void> {
    await this.add(this.name, { activityId }, { runAtMs: endsAtMs, onConflict });
  }

  /**
   * Schedules a call of `onClosed`, due now. Does nothing without `onClosed`, or for an activity that is not closed.
   *
   * @throws the errors of ScriptRegistry.run()
   */
  async report(activityId: string): Promise<void> {
    if (this.options.onClosed === undefined) return;
    const status = await this.lifecycle.status(activityId);
    if (status?.state === 'closed') await this.add(this.name, { activityId }, { delayMs: 0, onConflict: 'replace' });
  }

  private async add(
    name: string,
    task: ActivityTask,
    when: Pick<ScheduleOptions, 'runAtMs' | 'delayMs'> & { readonly onConflict: 'replace' | 'keep' },
  ): Promise<void> {
    const id = `${name}:${createHash('sha256').update(task.activityId).digest('hex')}`;
    await this.tasks?.schedule(name, task, { id, attempts: ATTEMPTS, backoff: BACKOFF, ...when });
  }

  private async close(activityId: string, attempt: number): Promise<ReturnType<typeof retryLater> | undefined> {
    const closed = await this.lifecycle.closeAtEnd(activityId);
    // The task and the activity may be on Redis servers with different clocks. A task that comes too early is not a failure: nothing is
    // logged, and the task is tried again later.
    // See DECISIONS.md: early-close-waits-by-backoff
    if (closed === 'not-ended') {
      return retryLater({ delayMs: Math.min(BACKOFF.delayMs * 2 ** (attempt - 1), BACKOFF.maxDelayMs) });
    }
    if (typeof closed === 'object') await this.callListener(closed);
    const state = await this.lifecycle.settle(activityId);
    if (state !== 'owed') return undefined;
    // A repeated `create` call may still open this draft, and a later attempt of this task then closes it. Otherwise the keys of the draft
    // expire.
    if (closed === 'draft') {
      const endsAtMs = (await this.lifecycle.status(activityId))?.endsAtMs ?? 0;
      return retryLater({ delayMs: aQuarterSince(endsAtMs, BACKOFF.maxDelayMs), countsAsAttempt: false });
    }
    const sinceMs = time.nowMs();
    await this.add(this.settling, { activityId, sinceMs }, { delayMs: BACKOFF.delayMs, onConflict: 'replace' });
    return undefined;
  }

  /** Sets the TTL of an activity that owes nothing. Otherwise checks again after a quarter of the time since `sinceMs`. */
  private async settle({ activityId, sinceMs = 0 }: ActivityTask): Promise<ReturnType<typeof retryLater> | undefined> {
    const state = await this.lifecycle.settle(activityId);
    this.debts.check(activityId, state === 'gone' ? undefined : await this.lifecycle.status(activityId));
    if (state !== 'owed') return undefined;
    return retryLater({ delayMs: aQuarterSince(sinceMs, OWED_MS), countsAsAttempt: false });
  }

  /**
   * Calls `onClosed`, and notes in Redis that it has succeeded. Until then, Redis keeps the activity, unless `forget` gives up the refund.
   */
  private async callListener(closed: Closed): Promise<void> {
    const { onClosed } = this.options;
    if (onClosed === undefined && unreportedOf(closed.readings) > 0) {
      const error = new InvalidOptionError(
        `RedPacketModule: onClosed was not called yet for activity ${JSON.stringify(closed.closed.activityId)}. The process that created ` +
          'the activity has set onClosed, but this process has not. Set onClosed in all processes. The call is tried again.',
      );
      // The error of a task handler appears in the log without its message, because a message may quote a payload. This message is safe, so
      // it is logged here.
      if (!this.isLogged) this.logger.error(error.message);
      this.isLogged = true;
      throw error;
    }
    await onClosed?.(closed.closed);
    await this.lifecycle.noteReport(closed);
  }
}

/** Returns a quarter of the time since `atMs` in ms, but at least 1 s and at most `mostMs`. */
function aQuarterSince(atMs: number, mostMs: number): number {
  return Math.round(Math.min(Math.max((time.nowMs() - atMs) / 4, BACKOFF.delayMs), mostMs));
}
