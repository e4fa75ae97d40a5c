import type { ScriptRegistry } from 'luanest/script-registry';
import { Bell } from '../../../internal/src';
import type { Calls, Capacity } from '../../../worker/src';
import type { ResolvedDelayedTaskOptions } from '../delayed-task.options';
import type { Partition } from '../queue/partitions';
import { Alarm } from './alarm';
import type { Settlements, Step } from './settlements';
import type { Sweeper } from './sweeper';
import type { Taken, Taker } from './taker';
import type { TaskAttempt } from './task-attempt';

interface LoopContext {
  readonly registry: ScriptRegistry;
  readonly options: ResolvedDelayedTaskOptions;
  readonly calls: Calls<Step>;
  readonly capacity: Capacity;
  readonly taker: Taker;
  readonly settlements: Settlements;
  /** Begins an attempt, for which a slot is reserved. */
  readonly begin: (attempt: TaskAttempt) => void;
  readonly sweeper: Pick<Sweeper, 'include'>;
}

/** Most tasks that one take requests. A take is a call that leases due tasks to this worker. */
const MAX_TAKE = 64;
/** A take requests up to at least this many tasks, if `concurrency` allows it. A take of fewer tasks costs Redis almost as much. */
const MIN_TAKE = 16;

/**
 * Takes the due tasks of one partition. Then sleeps until the next task is due, the next lease ends, or the partition's channel reports
 * an earlier task.
 * See DECISIONS.md: sleepers-mark-what-they-wait-for
 */
export class PartitionLoop {
  private readonly alarm = new Alarm();
  private readonly most: number;
  private readonly bell: Bell;
  private takingMore = false;

  constructor(
    private readonly partition: Partition,
    private readonly context: LoopContext,
  ) {
    const { registry, calls } = context;
    const failed = (error: unknown): void => calls.reportError('subscribe', error);
    this.bell = new Bell(registry, partition.waits, () => this.alarm.ring(), failed);
    const { concurrency, partitions } = context.options;
    // While many tasks are due, two takes are in flight, so that Redis works on one while this process works on the other.
    // See DECISIONS.md: two-takes-at-a-time
    const share = Math.ceil(concurrency / Math.max(2, partitions));
    this.most = Math.min(MAX_TAKE, Math.max(Math.min(MIN_TAKE, concurrency), share));
  }

  async run(): Promise<void> {
    const { calls, capacity, taker } = this.context;
    for (let failures = 0; !calls.closing;) {
      const slots = await capacity.reserve(this.most);
      if (slots === 0) break;
      this.alarm.reset();
      this.bell.listen();
      const taken = await taker.take(this.partition, 0, slots);
      const full = this.begin(taken, slots);
      failures = taken ? 0 : failures + 1;
      if (full) this.takeMore();
      else if (taken) await this.sleep(taken.waitMs, 'until due');
      else await this.sleep(50 * 2 ** Math.min(failures, 4), 'after a failure');
    }
    this.bell.close();
  }

  wake(): void {
    this.alarm.ring();
  }

  /** Begins the attempts, or hands them back if the worker closes. @returns true if more tasks may be due */
  private begin(taken: Taken | undefined, slots: number): boolean {
    const { calls, capacity, settlements, begin, sweeper } = this.context;
    const attempts = taken?.attempts ?? [];
    if (calls.closing) {
      capacity.release(slots);
      if (attempts.length > 0 && !calls.stopped) calls.track(settlements.release(attempts));
      return false;
    }
    if (attempts.length < slots) capacity.release(slots - attempts.length);
    if (attempts.length > 0) sweeper.include(this.partition);
    for (const attempt of attempts) begin(attempt);
    return attempts.length === slots;
  }

  /** Starts a second series of takes, which ends with the first take that is not full. */
  private takeMore(): void {
    if (this.takingMore) return;
    this.takingMore = true;
    const { calls } = this.context;
    const extra = this.takeUntilNotFull().finally(() => (this.takingMore = false));
    calls.track(extra);
  }

  private async takeUntilNotFull(): Promise<void> {
    const { calls, capacity, taker } = this.context;
    while (!calls.closing) {
      const slots = await capacity.reserve(this.most);
      if (slots === 0) return;
      const taken = await taker.take(this.partition, 1, slots);
      if (!this.begin(taken, slots)) return;
    }
  }

  private async sleep(waitMs: number, why: 'until due' | 'after a failure'): Promise<void> {
    if (this.context.calls.closing || waitMs <= 0) return;
    await (why === 'until due' ? this.alarm.sleep(waitMs) : this.alarm.pause(waitMs));
  }
}
