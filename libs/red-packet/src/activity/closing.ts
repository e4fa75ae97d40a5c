import { createHash } from 'node:crypto';
import type { DelayedTaskService } from 'luanest/delayed-task';
import { InvalidOptionError } from 'luanest/script-registry';
import { refuse } from '../red-packet.input';
import type { RedPacketServiceOptions } from '../red-packet.options';
import type { Lifecycle } from './lifecycle';

/** The furthest that a task can be ahead, ms: ten years, less the clocks' disagreement. */
const FURTHEST_MS = 10 * 365 * 86_400_000 - 3_600_000;
/** A task that nobody could do for so many attempts, a minute apart in the end, needs a person. */
const ATTEMPTS = 1_000;
const BACKOFF = { delayMs: 1_000, maxDelayMs: 60_000 };

/** Closes activities at their ends, by a task, where the app has `DelayedTaskModule`. */
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
    this.tasks?.process(this.name, ({ activityId }: { activityId: string }) => this.close(activityId));
  }

  /** Refuses an end that no task can wait for. @throws InvalidRedPacketInputError */
  check(endsAtMs: number): void {
    if (this.tasks !== undefined && endsAtMs > Date.now() + FURTHEST_MS) {
      refuse('endsAtMs', endsAtMs, 'Give a time within ten years, or leave it out and close the activity yourself.');
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
    if (this.tasks === undefined || endsAtMs === 0) return;
    const id = `${this.name}:${createHash('sha256').update(activityId).digest('hex')}`;
    const options = { id, runAt: endsAtMs, attempts: ATTEMPTS, backoff: BACKOFF, onConflict };
    await this.tasks.schedule(this.name, { activityId }, options);
  }

  /** Has `onClosed` called with what a closed activity has refunded since. @throws errors of the registry */
  async tellAgain(activityId: string): Promise<void> {
    if (this.options.onClosed === undefined) return;
    const status = await this.lifecycle.status(activityId);
    if (status?.state === 'closed') await this.schedule(activityId, status.endsAtMs);
  }

  private async close(activityId: string): Promise<void> {
    const closed = await this.lifecycle.close(activityId, true);
    if (closed !== undefined) await this.options.onClosed?.(closed);
  }
}
