import { createHash } from 'node:crypto';
import { InvalidOptionError } from '../../../internal/src';
import { type DelayedTaskService, RetryTaskError, type ScheduleOptions } from 'luanest/delayed-task';
import { refuse, type CheckedActivity } from '../red-packet.input';
import type { RedPacketServiceOptions } from '../red-packet.options';
import type { Lifecycle } from './lifecycle';

/** The furthest that a task can be ahead, ms: ten years, less the clocks' disagreement. */
const FURTHEST_MS = 10 * 365 * 86_400_000 - 3_600_000;
/** A task that nobody could do for so many attempts, a minute apart in the end, needs a person. */
const ATTEMPTS = 1_000;
const BACKOFF = { delayMs: 1_000, maxDelayMs: 60_000 };

/** Closes each activity at its end, by a task, where the app has `DelayedTaskModule`. */
export class Closing {
  private readonly name: string;

  /** @param registry name of the ScriptRegistry, since another one's activities are others */
  constructor(
    private readonly lifecycle: Lifecycle,
    private readonly tasks: DelayedTaskService | undefined,
    private readonly options: Pick<RedPacketServiceOptions, 'onClosed'>,
    registry: string,
  ) {
    this.name = registry === '' ? 'red-packet.close' : `red-packet.close:${registry}`;
  }

  /** Lets this process close activities. @throws InvalidOptionError for an `onClosed` that nobody would call */
  register(): void {
    if (this.options.onClosed !== undefined && this.tasks === undefined) {
      throw new InvalidOptionError(
        'onClosed needs tasks. Import DelayedTaskModule.forRoot() in the root module, or leave it out.',
      );
    }
    this.tasks?.process(this.name, ({ activityId }: { activityId: string }, { attempt }) =>
      this.close(activityId, attempt),
    );
  }

  /** Refuses times that no task can wait for. @throws InvalidRedPacketInputError */
  check({ startsAtMs, endsAtMs }: Pick<CheckedActivity, 'startsAtMs' | 'endsAtMs'>, retentionMs: number): void {
    if (this.tasks === undefined) return;
    const furthest = Date.now() + FURTHEST_MS;
    if (endsAtMs > furthest) refuse('endsAtMs', endsAtMs, 'Give a time within ten years.');
    if (endsAtMs === 0 && startsAtMs > furthest - retentionMs && startsAtMs > Date.now()) {
      refuse(
        'startsAtMs',
        startsAtMs,
        'Give a time that ends, with the retention, within ten years, or give endsAtMs.',
      );
    }
  }

  /**
   * Has the activity closed at its end; harmless twice.
   *
   * @param onConflict what becomes of a task that is there: an earlier activity of this id may have left one that failed
   * for good, while one that runs is this activity's
   * @throws errors of the registry
   */
  async schedule(activityId: string, endsAtMs: number, onConflict: 'replace' | 'keep' = 'replace'): Promise<void> {
    await this.add(activityId, { runAt: endsAtMs, onConflict });
  }

  /** Has `onClosed` called soon with all that a closed activity has refunded. @throws errors of the registry */
  async report(activityId: string): Promise<void> {
    if (this.options.onClosed === undefined) return;
    const status = await this.lifecycle.status(activityId);
    if (status?.state === 'closed') await this.add(activityId, { delayMs: 0, onConflict: 'replace' });
  }

  private async add(
    activityId: string,
    when: Pick<ScheduleOptions, 'runAt' | 'delayMs'> & { readonly onConflict: 'replace' | 'keep' },
  ): Promise<void> {
    const id = `${this.name}:${createHash('sha256').update(activityId).digest('hex')}`;
    await this.tasks?.schedule(this.name, { activityId }, { id, attempts: ATTEMPTS, backoff: BACKOFF, ...when });
  }

  private async close(activityId: string, attempt: number): Promise<void> {
    const closed = await this.lifecycle.closeAtEnd(activityId);
    if (closed === 'not-ended') {
      // Clocks of two nodes may differ. That is not a failure, and is not logged as one.
      const delayMs = Math.min(BACKOFF.delayMs * 2 ** (attempt - 1), BACKOFF.maxDelayMs);
      throw new RetryTaskError(delayMs, 'The activity has not ended by the clock of its Redis.');
    }
    if (closed !== undefined) await this.options.onClosed?.(closed);
  }
}
