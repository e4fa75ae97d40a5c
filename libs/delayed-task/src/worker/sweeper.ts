import { type IdleCheck, idleChecksOf, time, type Timer } from '../../../internal/src';
import type { Calls } from '../../../worker/src';
import { events } from '../delayed-task.events';
import type { Partition } from '../queue/task-codec';
import type { TaskQueue } from '../queue/task-queue';
import type { Pausing } from './partition-loop';
import type { Step } from './settlements';
import { sweepTasks } from './worker.scripts';

/** Number of tasks, of attempts and of dead letters that one call of the cleanup script looks at, approximately. */
const COUNT = 64;
const MOST_CALLS = 50;

/** Longest pause between two cleanups of the partitions in use, ms. Each pause is shortened by a random part of up to 50 %. */
const SWEEP_MS = 60_000;
/** Number of commands that Redis runs when an idle check cleans up a partition. */
const COMMANDS = 12;

/**
 * Periodic cleanup: deletes old dead letters, and repairs tasks that Redis has partly lost. Partitions from which this worker has taken
 * tasks are cleaned every 30 to 60 s. All others are cleaned less often, as idle checks: all idle checks of this process together send only
 * a limited number of commands per second to a Redis.
 */
export class Sweeper {
  private readonly cursors = new Map<Partition, { taskCursor: string; runCursor: string }>();
  /** Partitions from which this worker has taken tasks since their last cleanup. */
  readonly busy = new Set<Partition>();
  private readonly idle: IdleCheck[];
  private timer: Timer | undefined;

  constructor(
    private readonly queue: TaskQueue,
    private readonly calls: Calls<Step>,
    private readonly pausing: Pausing,
  ) {
    this.idle = queue.partitions.all.map((partition) => ({
      commands: COMMANDS,
      check: () => this.track(this.sweepIdle(partition)),
    }));
  }

  start(): void {
    const checks = idleChecksOf(this.queue.registry);
    for (const check of this.idle) checks.add(check);
    this.schedule();
  }

  stop(): void {
    const checks = idleChecksOf(this.queue.registry);
    for (const check of this.idle) checks.remove(check);
    time.clearTimer(this.timer);
  }

  private async sweepBusy(): Promise<void> {
    for (const partition of [...this.busy]) {
      if (this.calls.closing) return;
      this.busy.delete(partition);
      await this.sweep(partition);
    }
  }

  private async sweepIdle(partition: Partition): Promise<void> {
    // If the key of the pause was evicted or deleted by hand, no message has reported this. So the worker asks again.
    if (this.pausing.paused) this.pausing.look();
    await this.queue.notedPartitions();
    await this.sweep(partition);
  }

  private async sweep(partition: Partition): Promise<void> {
    const { due, leased, tasks, runs, dead, waits, lines, heads } = partition;
    const keys = { due, leased, tasks, runs, dead, waits, lines, heads };
    const { namespace, deadRetentionMs, leaseMs } = this.queue.options;
    let at = this.cursors.get(partition) ?? { taskCursor: '0', runCursor: '0' };
    for (let call = 0; call < MOST_CALLS && !this.calls.closing; call++) {
      const args = { retentionMs: deadRetentionMs, leaseMs, ...at, count: COUNT };
      const { expired, restored, dropped, ...next } = await this.queue.registry.run(sweepTasks, { keys, args });
      at = next;
      if (restored + dropped > 0) events.queueRepaired.publish(() => ({ namespace, restored, dropped }));
      if (expired < COUNT && next.taskCursor === '0' && next.runCursor === '0') break;
    }
    this.cursors.set(partition, at);
  }

  private schedule(): void {
    const everyMs = SWEEP_MS * (0.5 + Math.random() / 2);
    this.timer = time.setTimer(() => {
      void this.track(this.sweepBusy()).then(() => !this.calls.closing && this.schedule());
    }, everyMs);
    this.timer.unref();
  }

  /** Makes a shutdown wait for a cleanup. Reports the error if the cleanup fails. */
  private track(sweep: Promise<void>): Promise<void> {
    const swept = sweep.catch((error: unknown) => this.calls.reportError('sweep', error));
    this.calls.track(swept);
    return swept;
  }
}
