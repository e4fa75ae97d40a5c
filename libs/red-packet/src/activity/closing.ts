import { createHash } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { InvalidOptionError } from '../../../internal/src';
import { type DelayedTaskService, retryLater, type RetryLater, type ScheduleOptions } from 'luanest/delayed-task';
import type { RedPacketServiceOptions } from '../red-packet.options';
import type { Closed, Lifecycle } from './lifecycle';
import { unreportedOf } from './status';

/** Attempts of the closing task before it is dead-lettered. */
const ATTEMPTS = 1_000;
/**
 * Pauses between attempts: 1 s, then twice as long each time, up to 60 s. delayed-task shortens each pause by up to half at
 * random, so 1,000 failed attempts take about 12 hours.
 */
const BACKOFF = { delayMs: 1_000, maxDelayMs: 60_000 };

/**
 * Schedules a delayed task for each activity, which closes the activity at its end. Schedules nothing without
 * `DelayedTaskModule`.
 */
export class Closing {
  private readonly name: string;
  private readonly logger = new Logger(Closing.name);
  /** True if it was logged that this process lacks `onClosed`. */
  private isLogged = false;

  /** @param registry name of the ScriptRegistry, '' for the one without a name. Tasks of two registries have different names. */
  constructor(
    private readonly lifecycle: Lifecycle,
    private readonly tasks: DelayedTaskService | undefined,
    private readonly options: Pick<RedPacketServiceOptions, 'onClosed'>,
    registry: string,
  ) {
    this.name = registry === '' ? 'red-packet.close' : `red-packet.close:${registry}`;
  }

  /** Registers the handler of the closing tasks. @throws InvalidOptionError if there is `onClosed` but no DelayedTaskModule */
  register(): void {
    if (this.options.onClosed !== undefined && this.tasks === undefined) {
      throw new InvalidOptionError(
        'RedPacketModule: onClosed is called by delayed tasks. Import DelayedTaskModule.forRoot() in the root module, ' +
          'without isGlobal: false, or leave onClosed out.',
      );
    }
    // A mock of DelayedTaskService may have no method `process`.
    const tasks = this.tasks as Partial<Pick<DelayedTaskService, 'process'>> | undefined;
    tasks?.process?.(this.name, ({ activityId }: { activityId: string }, { attempt }) =>
      this.close(activityId, attempt),
    );
  }

  /**
   * Schedules the task that closes an activity at `endsAtMs`. May be repeated: an activity has one closing task.
   *
   * @param onConflict what to do if there is a closing task of this id. Pass `replace` for a new activity, because an earlier
   *   activity of the same id may have left a dead-lettered task. Pass `keep` for an open activity, whose task may be running.
   * @throws the errors of ScriptRegistry.run()
   */
  async schedule(activityId: string, endsAtMs: number, onConflict: 'replace' | 'keep' = 'replace'): Promise<void> {
    await this.add(activityId, { runAtMs: endsAtMs, onConflict });
  }

  /**
   * Schedules a call of `onClosed`, due now. Does nothing without `onClosed`, and for an activity that is not closed.
   *
   * @throws the errors of ScriptRegistry.run()
   */
  async report(activityId: string): Promise<void> {
    if (this.options.onClosed === undefined) return;
    const status = await this.lifecycle.status(activityId);
    if (status?.state === 'closed') await this.add(activityId, { delayMs: 0, onConflict: 'replace' });
  }

  private async add(
    activityId: string,
    when: Pick<ScheduleOptions, 'runAtMs' | 'delayMs'> & { readonly onConflict: 'replace' | 'keep' },
  ): Promise<void> {
    const id = `${this.name}:${createHash('sha256').update(activityId).digest('hex')}`;
    await this.tasks?.schedule(this.name, { activityId }, { id, attempts: ATTEMPTS, backoff: BACKOFF, ...when });
  }

  private async close(activityId: string, attempt: number): Promise<RetryLater | undefined> {
    const closed = await this.lifecycle.closeAtEnd(activityId);
    if (closed === 'not-ended') {
      // The clock of the task's Redis may be ahead of the clock of the activity's Redis. That is not a failure, so nothing is
      // logged, and the task is tried again later.
      // See DECISIONS.md: early-close-waits-by-backoff
      const delayMs = Math.min(BACKOFF.delayMs * 2 ** (attempt - 1), BACKOFF.maxDelayMs);
      return retryLater({ delayMs });
    }
    if (closed !== undefined) await this.callListener(closed);
    return undefined;
  }

  /** Calls `onClosed`, and notes that it resolved. Until then Redis keeps refunds to report, unless they are given up. */
  private async callListener(closed: Closed): Promise<void> {
    const { onClosed } = this.options;
    if (onClosed === undefined && unreportedOf(closed.readings) > 0) {
      const error = new InvalidOptionError(
        `RedPacketModule: activity ${JSON.stringify(closed.closed.activityId)} was created by a process with onClosed, ` +
          'and this process has no onClosed, so the refund was not reported. Give all processes the same options.',
      );
      // A worker's log has only the kind of this error, because errors of handlers may quote a payload.
      if (!this.isLogged) this.logger.error(error.message);
      this.isLogged = true;
      throw error;
    }
    await onClosed?.(closed.closed);
    await this.lifecycle.noteReport(closed);
  }
}
