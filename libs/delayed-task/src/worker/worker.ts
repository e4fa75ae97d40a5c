import { Attempts, Calls } from '../../../worker/src';
import { events } from '../delayed-task.events';
import type { ResolvedDelayedTaskOptions } from '../delayed-task.options';
import type { TaskQueue } from '../queue/task-queue';
import type { Handlers } from './handler-registry';
import { PartitionLoop } from './partition-loop';
import { Settlements, type Step } from './settlements';
import { Sweeper } from './sweeper';
import type { TaskAttempt } from './task-attempt';
import { TaskLog } from './task-log';
import { Taker } from './taker';

/** Runs the tasks of a queue in this process, from bootstrap to shutdown. */
export class Worker {
  private readonly log: TaskLog;
  private readonly calls: Calls<Step>;
  private readonly attempts: Attempts<TaskAttempt>;
  private readonly settlements: Settlements;
  private readonly sweeper: Sweeper;
  private loops: PartitionLoop[] = [];
  private looping: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly queue: TaskQueue,
    private readonly handlers: Handlers,
    private readonly options: ResolvedDelayedTaskOptions,
  ) {
    const { registry } = queue;
    this.log = new TaskLog(options.namespace);
    this.calls = new Calls((during, error) => {
      // The tasks of a `release` that failed wait for the end of their leases.
      if (during !== 'release') this.log.callFailed(during, error);
      events.callFailed.publish(() => ({ queue: options.namespace, during, error }));
    });
    const forget = (attempt: TaskAttempt): void => this.attempts.forget(attempt);
    this.settlements = new Settlements(registry, options, this.calls, this.log, forget);
    this.attempts = new Attempts(this.settlements, options, this.log);
    this.sweeper = new Sweeper(queue, this.calls);
  }

  /** True from the start to the shutdown. */
  get running(): boolean {
    return this.loops.length > 0 && !this.calls.closing;
  }

  /** Starts to take tasks. Does nothing if already started or closed. */
  start(): void {
    if (this.loops.length > 0 || this.calls.closing) return;
    const { options, calls, settlements } = this;
    const { registry } = this.queue;
    const { capacity } = this.attempts;
    const taker = new Taker(registry, options, calls, this.log);
    const begin = (attempt: TaskAttempt): void => this.begin(attempt);
    const context = { registry, options, calls, capacity, taker, settlements, begin, sweeper: this.sweeper };
    this.loops = this.queue.partitions.all.map((partition) => new PartitionLoop(partition, context));
    this.looping = Promise.all(this.loops.map((loop) => loop.run()));
    this.sweeper.start();
  }

  /**
   * Takes no more tasks and waits at most `drainMs` for running handlers. Then fires the signals of those that still run, waits at
   * most `abortGraceMs`, and hands their tasks back. After that it begins no call to Redis.
   */
  async close(): Promise<void> {
    const { calls, attempts, settlements } = this;
    if (calls.closing) return;
    calls.closing = true;
    attempts.capacity.close();
    this.sweeper.stop();
    for (const loop of this.loops) loop.wake();
    await attempts.drain(this.looping, calls, async (left) => {
      await settlements.release(left);
      for (const attempt of left) settlements.settled(attempt, 'released');
    });
    calls.stop();
  }

  /** Begins an attempt. The caller has reserved a slot for it. */
  private begin(attempt: TaskAttempt): void {
    attempt.handler = this.handlers.of(attempt.name);
    if (attempt.handler !== undefined) return this.attempts.begin(attempt, attempt.handler.timeoutMs);
    this.attempts.add(attempt);
    attempt.decided = true;
    this.attempts.capacity.release(1);
    this.settlements.handBackUnknown(attempt);
  }
}
