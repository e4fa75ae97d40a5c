import { Checks, SetupError, shown } from '../../../internal/src';
import { Attempts, Calls, checkTimeout } from '../../../worker/src';
import { events } from '../delayed-task.events';
import type { ResolvedDelayedTaskOptions } from '../delayed-task.options';
import type { TaskDefinition, TaskHandler } from '../delayed-task.types';
import { Broadcaster, EventListeners } from '../queue/broadcast';
import type { Partition } from '../queue/task-codec';
import type { TaskQueue } from '../queue/task-queue';
import { PartitionLoop, Taker, Pausing } from './partition-loop';
import { type Handler, Settlements, type Step, type TaskAttempt } from './settlements';
import { Sweeper } from './sweeper';
import { TaskLog } from './task-log';

const checks = new Checks('DelayedTaskService.handle');

/** Handlers of one queue in this process, by the name of the tasks. */
export class QueueHandlers {
  private readonly byName = new Map<string, Handler>();

  constructor(private readonly options: Pick<ResolvedDelayedTaskOptions, 'timeoutMs' | 'namespace'>) {}

  get empty(): boolean {
    return this.byName.size === 0;
  }

  /**
   * Adds a handler. @throws SetupError if `run` is not a function, or the name already has a handler; InvalidOptionError for an invalid
   * `timeoutMs`
   */
  add({ name, timeoutMs = this.options.timeoutMs }: TaskDefinition, run: TaskHandler): void {
    if (typeof run !== 'function') {
      throw new SetupError(`The handler of task ${shown(name)} is ${shown(run)}. Expected a function.`);
    }
    if (this.byName.has(name)) {
      throw new SetupError(
        `Task ${shown(name)} has two handlers in queue ${this.options.namespace}. Expected one. ` +
          `Remove a handler, rename one of the tasks, or provide the class of the handler only once.`,
      );
    }
    this.byName.set(name, { run, timeoutMs: checkTimeout(checks, timeoutMs) });
  }

  of(name: string): Handler | undefined {
    return this.byName.get(name);
  }
}

/** Handlers of all queues in this process. */
export class Handlers {
  private readonly byQueue: ReadonlyMap<string, QueueHandlers>;
  private readonly first: string;

  constructor(options: ResolvedDelayedTaskOptions) {
    this.first = options.namespace;
    this.byQueue = new Map([options, ...options.queues].map((each) => [each.namespace, new QueueHandlers(each)]));
  }

  /** Returns the handlers of a queue. @param queue default: the first queue @throws SetupError if the module has no such queue */
  in(queue: string = this.first): QueueHandlers {
    const handlers = this.byQueue.get(queue);
    if (handlers) return handlers;
    throw new SetupError(
      `DelayedTaskModule has no queue ${shown(queue)}. Its queues: ${[...this.byQueue.keys()].join(', ')}. Add the queue to the option queues.`,
    );
  }

  /** Adds a handler to the queue of its tasks. @throws SetupError; InvalidOptionError */
  add(task: TaskDefinition, run: TaskHandler): void {
    this.in(task.queue).add(task, run);
  }
}

/** Runs the tasks of one queue in this process, until the app shuts down. */
export class Worker {
  /** Listeners of `onEvents` in this process. They also get events if this process runs no tasks. */
  readonly listeners: EventListeners;
  readonly broadcaster: Broadcaster | undefined;
  private readonly log: TaskLog;
  private readonly calls: Calls<Step>;
  private readonly attempts: Attempts<TaskAttempt>;
  private readonly settlements: Settlements;
  private readonly sweeper: Sweeper;
  private readonly pausing: Pausing;
  private loops: PartitionLoop[] = [];
  private looping: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly queue: TaskQueue,
    private readonly handlers: QueueHandlers,
    private readonly options: ResolvedDelayedTaskOptions,
  ) {
    const { registry } = queue;
    this.log = new TaskLog(options.namespace);
    this.calls = new Calls((during, error) => {
      // A failed `release` is not logged, because other workers take the tasks when their leases end.
      if (during === 'broadcast') this.log.broadcastFailed(error);
      else if (during !== 'release') this.log.callFailed(during, error);
      events.callFailed.publish(() => ({ namespace: options.namespace, during, error }));
    });
    if (options.broadcastEvents) {
      this.broadcaster = new Broadcaster(queue, (error) => this.calls.reportError('broadcast', error));
    }
    this.listeners = new EventListeners(
      queue,
      (error) => this.calls.reportError('subscribe', error),
      (error) => this.log.listenerFailed(error),
    );
    const forget = (attempt: TaskAttempt): void => this.forget(attempt);
    this.settlements = new Settlements(registry, options, this.calls, this.log, forget, this.broadcaster);
    this.attempts = new Attempts(this.settlements, options, this.log);
    this.pausing = new Pausing(queue, this.calls);
    this.sweeper = new Sweeper(queue, this.calls, this.pausing);
  }

  /** True after `start`, until the shutdown begins. */
  get running(): boolean {
    return this.loops.length > 0 && !this.calls.closing;
  }

  /** Starts to take tasks. Does nothing if the worker has already started, or its shutdown has begun. */
  start(): void {
    if (this.loops.length > 0 || this.calls.closing) return;
    const { options, calls, settlements } = this;
    const { registry } = this.queue;
    const { capacity } = this.attempts;
    const taker = new Taker(registry, options, calls, this.log, this.broadcaster);
    const begin = (attempt: TaskAttempt): void => this.begin(attempt);
    const cancelled = (partition: Partition, id?: string): void =>
      this.attempts.renewNow((attempt) => attempt.partition === partition && (id === undefined || attempt.id === id));
    const context = {
      registry,
      options,
      calls,
      capacity,
      pausing: this.pausing,
      taker,
      settlements,
      begin,
      cancelled,
      busy: this.sweeper.busy,
    };
    this.loops = this.queue.partitions.all.map((partition) => new PartitionLoop(partition, context));
    this.pausing.look();
    this.looping = Promise.all(this.loops.map((loop) => loop.run()));
    this.sweeper.start();
  }

  /** Stops taking tasks at once, because this process has paused the queue. */
  hold(): void {
    if (this.running) this.pausing.hold();
  }

  /**
   * Shuts the worker down. Takes no more tasks, and waits up to `drainMs` for running handlers. Then aborts the AbortSignals of those that
   * still run, waits up to `abortGraceMs`, gives their tasks back to Redis, and sends the last events. Makes no call to Redis after that.
   */
  async close(): Promise<void> {
    const { calls, attempts, settlements } = this;
    if (calls.closing) return;
    calls.closing = true;
    attempts.capacity.close();
    this.pausing.close();
    this.sweeper.stop();
    for (const loop of this.loops) loop.wake();
    await attempts.drain(this.looping, calls, async (left) => {
      await settlements.release(left);
      for (const attempt of left) settlements.settled(attempt, 'released');
    });
    await this.broadcaster?.close();
    this.listeners.close();
    calls.stop();
  }

  private forget(attempt: TaskAttempt): void {
    this.attempts.forget(attempt);
    const { group, id, partition } = attempt;
    const isLimited = this.options.groupLimits?.concurrency !== undefined && group !== undefined;
    // The group of a schedule applies to the tasks that it creates. The schedule itself belongs to no group.
    if (isLimited && attempt.record.schedule === undefined) this.loops[partition.index]?.frees(group, id);
  }

  /** Starts the handler of a task. The caller must have reserved a slot for the handler. */
  private begin(attempt: TaskAttempt): void {
    if (attempt.record.schedule !== undefined) {
      this.attempts.add(attempt);
      attempt.decided = true;
      this.attempts.capacity.release(1);
      return this.settlements.fire(attempt, attempt.record.schedule);
    }
    attempt.handler = this.handlers.of(attempt.name);
    if (attempt.handler !== undefined) return this.attempts.begin(attempt, attempt.handler.timeoutMs);
    this.attempts.add(attempt);
    attempt.decided = true;
    this.attempts.capacity.release(1);
    this.settlements.handBackUnknown(attempt);
  }
}
