import type { ScriptRegistry } from 'luanest/script-registry';
import { time, type Timer, LostError, TimeoutError } from '../../../internal/src';
import { MAX_CHUNK } from '../queue/queue.scripts';
import type { ResolvedDelayedTaskOptions } from '../delayed-task.options';
import type { Partition } from '../queue/partitions';
import { releaseTasks, renewTasks } from './worker.scripts';
import { pairsOf, type Attempt, type Attempts } from './running-attempts';
import type { Runner } from './runner';
import type { TaskLog } from './task-log';
import type { WorkerState } from './worker-state';

/**
 * Renews the leases of attempts, and ends attempts that take too long. One timer does this for all attempts.
 * See DECISIONS.md: one-timer-for-all-attempts
 */
export class Leases {
  private timer: Timer | undefined;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly options: Pick<ResolvedDelayedTaskOptions, 'leaseMs' | 'abortGraceMs' | 'concurrency'>,
    private readonly attempts: Attempts,
    private readonly runner: Runner,
    private readonly state: WorkerState,
    private readonly log: TaskLog,
  ) {}

  start(): void {
    const everyMs = Math.min(100, Math.max(5, Math.floor(this.options.leaseMs / 20)));
    this.timer = time.setRepeatingTimer(() => this.checkAll(), everyMs);
    this.timer.unref();
  }

  stop(): void {
    time.clearTimer(this.timer);
  }

  /** Tries once to hand the tasks of attempts back, so that the attempts do not count. Never throws. */
  async release(attempts: readonly Attempt[]): Promise<void> {
    const calls = batches(attempts).map(async ([{ due, leased, runs, waits }, batch]) => {
      const call = { keys: { due, leased, runs, waits }, args: { pairs: pairsOf(batch) } };
      try {
        await this.registry.run(releaseTasks, call);
      } catch (error) {
        // If the call did not run, other workers take the tasks when their leases end, or dead-letter them after their last attempt.
        this.state.reportError('release', error);
      }
    });
    await Promise.all(calls);
  }

  private checkAll(): void {
    const now = time.monotonicMs();
    const renewable: Attempt[] = [];
    const late: Attempt[] = [];
    for (const attempt of this.attempts.all) {
      if (!attempt.ended && now >= attempt.timesOutAt) late.push(attempt);
      if (now >= attempt.leaseEndsAt)
        attempt.abort(new LostError('The lease has ended. Another worker may have the task.'));
      if (attempt.renewing || attempt.lost) continue;
      if (attempt.leaseEndsAt - now < (this.options.leaseMs * 2) / 3) renewable.push(attempt);
    }
    for (const attempt of late) this.timeOut(attempt, now);
    const { overtime } = this.runner;
    if (overtime.size > 0) this.log.overtime(overtime, this.options.concurrency);
    for (const [partition, batch] of batches(renewable)) this.state.track(this.renew(partition, batch));
  }

  private timeOut(attempt: Attempt, now: number): void {
    if (attempt.timeout !== undefined) {
      this.runner.giveUp(attempt, attempt.timeout);
      return;
    }
    const tookMs = Math.round(now - attempt.startedAt);
    attempt.timeout = new TimeoutError(`The handler of ${attempt.name} did not end within ${tookMs} ms.`);
    // The task stays leased for up to abortGraceMs, to give the handler time to end before a retry runs.
    // See DECISIONS.md: slot-until-the-handler-ends
    attempt.timesOutAt = now + this.options.abortGraceMs;
    attempt.abort(attempt.timeout);
  }

  private async renew({ leased, runs }: Partition, batch: readonly Attempt[]): Promise<void> {
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
      this.state.reportError('renew', error);
    }
    for (const attempt of batch) attempt.renewing = false;
  }

  private lose(attempt: Attempt): void {
    // The attempt is being settled. Its lease may be gone because Redis has its outcome already.
    if (attempt.ended) return;
    attempt.lost = true;
    attempt.abort(
      new LostError(
        'The lease is gone, for example because the task was taken over, cancelled or replaced, or Redis lost it.',
      ),
    );
  }
}

/** Groups attempts by partition, with at most MAX_CHUNK in a group. */
function batches(attempts: readonly Attempt[]): [Partition, Attempt[]][] {
  const all: [Partition, Attempt[]][] = [];
  const open = new Map<Partition, Attempt[]>();
  for (const attempt of attempts) {
    let batch = open.get(attempt.partition);
    if (batch === undefined || batch.length === MAX_CHUNK) {
      batch = [];
      open.set(attempt.partition, batch);
      all.push([attempt.partition, batch]);
    }
    batch.push(attempt);
  }
  return all;
}
