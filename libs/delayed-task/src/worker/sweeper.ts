import { type IdleCheck, idleChecksOf, time, type Timer } from '../../../internal/src';
import type { Calls } from '../../../worker/src';
import { events } from '../delayed-task.events';
import type { Partition, TaskQueue } from '../queue/task-queue';
import type { Pausing } from './pausing';
import type { Step } from './settlements';
import { sweepTasks } from '../delayed-task.scripts';

/** Number of tasks, of runs and of dead letters that one call looks at, approximately. */
const COUNT = 64;
const MOST_CALLS = 50;

/** Pause between two sweeps of a partition in use, ms. It is shortened by up to half at random. */
const SWEEP_MS = 60_000;
/** Commands of an idle check of a partition, with those that scripts call. */
const COMMANDS = 12;

/**
 * Deletes dead letters after their retention, repairs tasks that are incomplete, and renews the TTL of the number of partitions:
 * each minute in partitions of which this worker took tasks, and as idle checks in the others.
 */
export class Sweeper {
  private readonly cursors = new Map<Partition, { taskCursor: string; runCursor: string }>();
  /** Partitions of which tasks were taken since they were swept last. */
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
    // The key may be gone without a message: deleted by hand, or evicted.
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

  /** Reports the error of a sweep that failed. Makes a shutdown wait for the sweep. */
  private track(sweep: Promise<void>): Promise<void> {
    const swept = sweep.catch((error: unknown) => this.calls.reportError('sweep', error));
    this.calls.track(swept);
    return swept;
  }
}
