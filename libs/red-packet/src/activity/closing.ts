import { createHash } from 'node:crypto';
import { InvalidOptionError } from '../../../internal/src';
import { type DelayedTaskService, retryLater, type RetryLater, type ScheduleOptions } from 'luanest/delayed-task';
import { refuse, type CheckedActivity } from '../red-packet.input';
import type { RedPacketServiceOptions } from '../red-packet.options';
import type { Lifecycle } from './lifecycle';

/** Longest time from now to the end of an activity, ms: ten years, less an hour for clocks that differ. */
const MAX_AHEAD_MS = 10 * 365 * 86_400_000 - 3_600_000;
/** Attempts of the task, the later ones a minute apart, before it is dead-lettered. */
const ATTEMPTS = 1_000;
const BACKOFF = { delayMs: 1_000, maxDelayMs: 60_000 };

/** Closes each activity at its end by a task, if the app has `DelayedTaskModule`. */
export class Closing {
  private readonly name: string;

  /** @param registry name of the ScriptRegistry: each registry has activities of its own */
  constructor(
    private readonly lifecycle: Lifecycle,
    private readonly tasks: DelayedTaskService | undefined,
    private readonly options: Pick<RedPacketServiceOptions, 'onClosed'>,
    registry: string,
  ) {
    this.name = registry === '' ? 'red-packet.close' : `red-packet.close:${registry}`;
  }

  /** Registers the task's handler. @throws InvalidOptionError for `onClosed` without DelayedTaskModule */
  register(): void {
    if (this.options.onClosed !== undefined && this.tasks === undefined) {
      throw new InvalidOptionError(
        'RedPacketModule: onClosed needs tasks. Import DelayedTaskModule.forRoot() in the root module, or leave onClosed out.',
      );
    }
    this.tasks?.process(this.name, ({ activityId }: { activityId: string }, { attempt }) =>
      this.close(activityId, attempt),
    );
  }

  /** Refuses an end that is more than ten years ahead. @throws InvalidRedPacketInputError */
  check({ startsAtMs, endsAtMs }: Pick<CheckedActivity, 'startsAtMs' | 'endsAtMs'>, retentionMs: number): void {
    if (this.tasks === undefined) return;
    const latest = Date.now() + MAX_AHEAD_MS;
    if (endsAtMs > latest) refuse('endsAtMs', endsAtMs, 'a time within ten years');
    if (endsAtMs === 0 && startsAtMs > latest - retentionMs && startsAtMs > Date.now()) {
      refuse('startsAtMs', startsAtMs, 'a time that, with the retention, is within ten years, or an endsAtMs');
    }
  }

  /**
   * Schedules the task that closes the activity. Harmless twice.
   *
   * @param onConflict `replace` for a new activity: an earlier one with this id may have left a dead-lettered task; `keep` for
   *   one that is open, whose task may be running
   * @throws errors of ScriptRegistry.run()
   */
  async schedule(activityId: string, endsAtMs: number, onConflict: 'replace' | 'keep' = 'replace'): Promise<void> {
    await this.add(activityId, { runAtMs: endsAtMs, onConflict });
  }

  /** Schedules a call of `onClosed` for a closed activity, due now. @throws errors of ScriptRegistry.run() */
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
      // The activity has not ended by the clock of its Redis: clocks of two nodes may differ. Not logged as a failure.
      const delayMs = Math.min(BACKOFF.delayMs * 2 ** (attempt - 1), BACKOFF.maxDelayMs);
      return retryLater({ delayMs });
    }
    if (closed !== undefined) await this.options.onClosed?.(closed);
    return undefined;
  }
}
