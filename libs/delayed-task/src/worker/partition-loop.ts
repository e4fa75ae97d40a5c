import type { ScriptRegistry } from 'luanest/script-registry';
import { time } from '../../../internal/src';
import type { Calls, Capacity } from '../../../worker/src';
import type { ResolvedDelayedTaskOptions } from '../delayed-task.options';
import type { Partition } from '../queue/partitions';
import { Alarm } from './alarm';
import type { Settlements, Step } from './settlements';
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
}

/** Most tasks that one take requests. A take is a call that leases due tasks to this worker. */
const MAX_TAKE = 64;
/** A take requests up to at least this many tasks, if `concurrency` allows it. A take of fewer tasks costs Redis almost as much. */
const MIN_TAKE = 16;

/** Pause before a subscription that failed is tried again, ms. */
const LISTEN_AGAIN_MS = 200;

/**
 * Takes the due tasks of one partition. Then sleeps until the next task is due, an earlier task is scheduled, or `pollMs` is
 * over.
 */
export class PartitionLoop {
  private readonly alarm = new Alarm();
  private readonly most: number;
  private readonly ring = (): void => {
    // ScriptRegistry also calls this function when the subscription has ended.
    this.listenAgainAt = 0;
    this.alarm.ring();
  };
  private stopListening: (() => void) | undefined;
  private listenAgainAt = 0;
  private takingMore = false;
  private subscribed = false;

  constructor(
    private readonly partition: Partition,
    private readonly context: LoopContext,
  ) {
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
      this.listen();
      const taken = await taker.take(this.partition, 0, slots);
      const full = this.begin(taken, slots);
      failures = taken ? 0 : failures + 1;
      if (full) this.takeMore();
      else if (taken) await this.sleep(taken.waitMs, 'until due');
      else await this.sleep(50 * 2 ** Math.min(failures, 4), 'after a failure');
    }
    this.stopListening?.();
  }

  wake(): void {
    this.alarm.ring();
  }

  /** Begins the attempts, or hands them back if the worker closes. @returns true if more tasks may be due */
  private begin(taken: Taken | undefined, slots: number): boolean {
    const { calls, capacity, settlements, begin } = this.context;
    const attempts = taken?.attempts ?? [];
    if (calls.closing) {
      capacity.release(slots);
      if (attempts.length > 0 && !calls.stopped) calls.track(settlements.release(attempts));
      return false;
    }
    if (attempts.length < slots) capacity.release(slots - attempts.length);
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
    const { calls, options } = this.context;
    if (calls.closing || waitMs <= 0) return;
    // The pause is random, so that processes poll at different times.
    const pollMs = options.pollMs * (0.8 + Math.random() * 0.2);
    const ms = Math.min(waitMs, pollMs);
    await (why === 'until due' ? this.alarm.sleep(ms) : this.alarm.pause(ms));
  }

  /** Subscribes to the wake-ups of the partition. Subscribes again periodically, because a subscription may have ended. */
  private listen(): void {
    const { registry, options, calls } = this.context;
    if (time.monotonicMs() < this.listenAgainAt) return;
    this.listenAgainAt = time.monotonicMs() + options.pollMs / 2;
    const listening = registry.listen(this.partition.waits, this.ring).then(
      (stop) => {
        this.stopListening = stop;
        if (calls.closing) stop();
        // A task may have been scheduled between the last take and the subscription.
        else if (!this.subscribed) this.alarm.ring();
        this.subscribed = true;
      },
      (error: unknown) => {
        this.subscribed = false;
        this.listenAgainAt = time.monotonicMs() + Math.min(LISTEN_AGAIN_MS, options.pollMs / 2);
        calls.reportError('subscribe', error);
      },
    );
    calls.track(listening);
  }
}
