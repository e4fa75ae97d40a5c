import type { ScriptRegistry } from 'luanest/script-registry';
import { LostError, time, type Timer } from '../../../internal/src';
import type { Attempts, Calls } from '../../../worker/src';
import type { ResolvedDelayedTaskOptions } from '../delayed-task.options';
import type { Partition } from '../queue/partitions';
import { batchesOf, type Step } from './settlements';
import { pairsOf, type TaskAttempt } from './task-attempt';
import { renewTasks } from './worker.scripts';

/** Renews the leases of attempts. One timer does this for all attempts. */
export class Leases {
  private timer: Timer | undefined;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: Pick<ResolvedDelayedTaskOptions, 'leaseMs'>,
    private readonly attempts: Pick<Attempts<TaskAttempt>, 'all'>,
    private readonly calls: Calls<Step>,
  ) {}

  start(): void {
    const everyMs = Math.min(100, Math.max(5, Math.floor(this.options.leaseMs / 20)));
    this.timer = time.setRepeatingTimer(() => this.checkAll(), everyMs);
    this.timer.unref();
  }

  stop(): void {
    time.clearTimer(this.timer);
  }

  private checkAll(): void {
    const now = time.monotonicMs();
    const renewable: TaskAttempt[] = [];
    for (const attempt of this.attempts.all) {
      if (now >= attempt.leaseEndsAt)
        attempt.abort(new LostError('The lease has ended. Another worker may have the task.'));
      if (attempt.renewing || attempt.lost) continue;
      if (attempt.leaseEndsAt - now < (this.options.leaseMs * 2) / 3) renewable.push(attempt);
    }
    for (const [partition, batch] of batchesOf(renewable)) this.calls.track(this.renew(partition, batch));
  }

  private async renew({ leased, runs }: Partition, batch: readonly TaskAttempt[]): Promise<void> {
    const sentAt = time.monotonicMs();
    for (const attempt of batch) attempt.renewing = true;
    try {
      const call = { keys: { leased, runs }, args: { leaseMs: this.options.leaseMs, pairs: pairsOf(batch) } };
      const reply = await this.registry.run(renewTasks, call, { deadlineMs: Math.ceil(this.options.leaseMs / 3) });
      const lost = new Set(reply.lost);
      for (const attempt of batch) {
        if (lost.has(attempt.id)) this.lose(attempt);
        else attempt.leaseEndsAt = sentAt + this.options.leaseMs;
      }
    } catch (error) {
      this.calls.reportError('renew', error);
    }
    for (const attempt of batch) attempt.renewing = false;
  }

  private lose(attempt: TaskAttempt): void {
    // The attempt is being settled. Its lease may be gone because Redis has its outcome already.
    if (attempt.decided) return;
    attempt.lost = true;
    attempt.abort(
      new LostError(
        'The lease is gone, for example because the task was taken over, cancelled or replaced, or Redis lost it.',
      ),
    );
  }
}
