import { endsWithin, ClosedError } from '../../../internal/src';
import type { ResolvedDelayedTaskOptions } from '../delayed-task.options';
import type { TaskQueue } from '../queue/task-queue';
import { Attempts } from './running-attempts';
import { Capacity } from './capacity';
import type { Handlers } from './handler-registry';
import { Leases } from './leases';
import { PartitionLoop } from './partition-loop';
import { Runner } from './runner';
import { Settlements } from './settlements';
import { Sweeper } from './sweeper';
import { TaskLog } from './task-log';
import { Taker } from './taker';
import { WorkerState } from './worker-state';

/** How long shutdown waits at most for the replies when it hands tasks back, and again for those to its last calls, ms. */
const LAST_ANSWERS_MS = 2_000;

/** Runs the tasks of a queue in this process, from bootstrap to shutdown. */
export class Worker {
  private readonly state: WorkerState;
  private readonly log: TaskLog;
  private readonly attempts = new Attempts();
  private readonly capacity: Capacity;
  private readonly settlements: Settlements;
  private readonly leases: Leases;
  private readonly runner: Runner;
  private readonly sweeper: Sweeper;
  private loops: PartitionLoop[] = [];
  private looping: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly queue: TaskQueue,
    handlers: Handlers,
    private readonly options: ResolvedDelayedTaskOptions,
  ) {
    const { registry } = queue;
    this.log = new TaskLog(options.queue);
    const { log } = this;
    this.state = new WorkerState(options.queue);
    this.capacity = new Capacity(options.concurrency);
    this.settlements = new Settlements(registry, options, this.attempts, this.state, log);
    this.runner = new Runner(handlers, this.attempts, this.capacity, this.settlements, options.maxPayloadBytes, log);
    this.leases = new Leases(registry, options, this.attempts, this.runner, this.state, log);
    this.sweeper = new Sweeper(queue, this.state);
  }

  /** True from the start to the shutdown. */
  get running(): boolean {
    return this.loops.length > 0 && !this.state.closing;
  }

  /** Starts to take tasks. Does nothing if already started or closed. */
  start(): void {
    if (this.loops.length > 0 || this.state.closing) return;
    const { options, state, capacity, runner, leases } = this;
    const { registry } = this.queue;
    const taker = new Taker(registry, options, state, this.log);
    const context = { registry, options, state, capacity, taker, runner, leases };
    this.loops = this.queue.partitions.all.map((partition) => new PartitionLoop(partition, context));
    this.looping = Promise.all(this.loops.map((loop) => loop.run()));
    leases.start();
    this.sweeper.start();
  }

  /**
   * Takes no more tasks and waits at most `drainMs` for running handlers. Then fires the signals of those that still run, waits at
   * most `abortGraceMs`, and hands their tasks back. After that it begins no call to Redis.
   */
  async close(): Promise<void> {
    const { state, attempts, leases } = this;
    if (state.closing) return;
    state.closing = true;
    this.capacity.close();
    this.sweeper.stop();
    for (const loop of this.loops) loop.wake();
    const drained = Promise.all([this.looping, attempts.untilIdle()]);
    if (!(await endsWithin(this.options.drainMs, drained))) await this.handBack();
    await endsWithin(LAST_ANSWERS_MS, state.settled());
    leases.stop();
    state.stop();
  }

  private async handBack(): Promise<void> {
    const { attempts, leases } = this;
    const running = (): Attempts['all'] => attempts.all.filter(({ ended }) => !ended);
    for (const attempt of running()) attempt.abort(new ClosedError('The app is shutting down.'));
    await endsWithin(this.options.abortGraceMs, attempts.untilIdle());
    const left = running();
    for (const attempt of left) attempt.ended = true;
    await endsWithin(LAST_ANSWERS_MS, leases.release(left));
    for (const attempt of left) this.settlements.settled(attempt, 'released');
  }
}
