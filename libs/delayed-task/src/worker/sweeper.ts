import { time, type Timer } from '../../../internal/src';
import type { Calls } from '../../../worker/src';
import { events } from '../delayed-task.events';
import type { Partition } from '../queue/partitions';
import type { TaskQueue } from '../queue/task-queue';
import type { Step } from './settlements';
import { sweepTasks } from './worker.scripts';

/** Number of tasks, of runs and of dead letters that one call looks at, approximately. */
const COUNT = 64;
const MOST_CALLS = 50;

/**
 * Periodically deletes dead letters after their retention, repairs tasks that are incomplete, and renews the TTL of the number of
 * partitions.
 */
export class Sweeper {
  private readonly cursors = new Map<Partition, { taskCursor: string; runCursor: string }>();
  private timer: Timer | undefined;

  constructor(
    private readonly queue: TaskQueue,
    private readonly calls: Calls<Step>,
  ) {}

  start(): void {
    this.schedule();
  }

  stop(): void {
    time.clearTimer(this.timer);
  }

  async sweep(): Promise<void> {
    for (const partition of this.queue.partitions.all) {
      if (this.calls.closing) return;
      await this.sweepOne(partition);
    }
    if (!this.calls.closing) await this.queue.notedPartitions();
  }

  private async sweepOne(partition: Partition): Promise<void> {
    const { due, leased, tasks, runs, dead } = partition;
    const keys = { due, leased, tasks, runs, dead };
    const { queue, deadRetentionMs, leaseMs } = this.queue.options;
    let at = this.cursors.get(partition) ?? { taskCursor: '0', runCursor: '0' };
    for (let call = 0; call < MOST_CALLS && !this.calls.closing; call++) {
      const args = { retentionMs: deadRetentionMs, leaseMs, ...at, count: COUNT };
      const { expired, restored, dropped, ...next } = await this.queue.registry.run(sweepTasks, { keys, args });
      at = next;
      if (restored + dropped > 0) events.queueRepaired.publish(() => ({ queue, restored, dropped }));
      if (expired < COUNT && next.taskCursor === '0' && next.runCursor === '0') break;
    }
    this.cursors.set(partition, at);
  }

  private schedule(): void {
    const everyMs = this.queue.options.sweepMs * (0.5 + Math.random() / 2);
    this.timer = time.setTimer(() => {
      const swept = this.sweep().catch((error: unknown) => this.calls.reportError('sweep', error));
      this.calls.track(swept.then(() => !this.calls.closing && this.schedule()));
    }, everyMs);
    this.timer.unref();
  }
}
