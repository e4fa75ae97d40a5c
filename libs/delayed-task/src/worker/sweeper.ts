import { type IdleCheck, idleChecksOf, time, type Timer } from '../../../internal/src';
import type { Calls } from '../../../worker/src';
import { events } from '../delayed-task.events';
import type { Partition, TaskQueue } from '../queue/task-queue';
import type { Pausing } from './pausing';
import type { Step } from './settlements';
import { sweepTasks } from '../delayed-task.scripts';

/** Approximate number of tasks, of entries in the key `runs`, and of dead letters that one call of the script reads. */
const COUNT = 64;
const MOST_CALLS = 50;

/** Longest pause between two sweeps of the partitions in use, ms. Each pause is shortened by a random part of up to 50 %. */
const SWEEP_MS = 60_000;
/** Number of Redis commands of an idle check of a partition, including the commands that scripts call. */
const COMMANDS = 12;

/**
 * Periodic cleanup, called a sweep: deletes old dead letters, and repairs incomplete tasks. Partitions from which this worker took tasks
 * are swept every 30 to 60 s. All partitions are also swept by idle checks: rare checks, in turn with everything else that is idle on
 * this Redis. An idle check also renews the TTL of the number of partitions.
 */
export class Sweeper {
  private readonly cursors = new Map<Partition, { taskCursor: string; runCursor: string }>();
  /** Partitions from which this worker has taken tasks since their last sweep. */
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
    // Reads again if the queue is paused: if somebody deleted the key of the pause, or Redis evicted it, no message was sent.
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

  /** Makes a shutdown wait for a sweep. Reports the error if the sweep fails. */
  private track(sweep: Promise<void>): Promise<void> {
    const swept = sweep.catch((error: unknown) => this.calls.reportError('sweep', error));
    this.calls.track(swept);
    return swept;
  }
}
