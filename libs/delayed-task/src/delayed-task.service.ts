import {
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import type { ScriptRegistry } from 'luanest/script-registry';
import { CONSOLE, draining, INSPECT, OUTBOX, shown } from '../../internal/src';
import type { ResolvedDelayedTaskOptions } from './delayed-task.options';
import { DelayedTaskQueue, queueOf } from './delayed-task.queue';
import type { TaskInspection, TaskOutbox } from './delayed-task.types';
import { QueueParts } from './queue/queue-parts';
import { QueueConsole } from './queue/task-console';
import { checkScheduling, taskInput } from './queue/task-codec';
import { Handlers } from './worker/worker';

/**
 * Schedules tasks, and runs the tasks for which this process has handlers. The service itself is the first queue of the app. A task or
 * definition with the option `queue` uses another one.
 */
export class DelayedTaskService
  extends DelayedTaskQueue
  implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown
{
  /** Name of this class for `luanest/console`. A bundler may shorten the name of the class itself. */
  static readonly [CONSOLE] = 'DelayedTaskService';

  private readonly logger = new Logger(DelayedTaskService.name);
  private readonly queues: ReadonlyMap<string, { readonly parts: QueueParts; readonly queue: DelayedTaskQueue }>;
  private closing: Promise<void> | undefined;

  constructor(registry: ScriptRegistry, options: ResolvedDelayedTaskOptions, handlers = new Handlers(options)) {
    super(new QueueParts(registry, options, handlers.in()));
    const others = options.queues.map((each) => {
      const parts = new QueueParts(registry, each, handlers.in(each.namespace));
      return [each.namespace, { parts, queue: new DelayedTaskQueue(parts) }] as const;
    });
    this.queues = new Map([[options.namespace, { parts: this.parts, queue: this }], ...others]);
  }

  /**
   * Returns a queue by its name, to read and change its tasks.
   *
   * @param name a key of the module's option `queues`, or its `namespace`
   * @throws InvalidInputError if the module has no such queue
   */
  queue(name: string): DelayedTaskQueue {
    return this.of(name).queue;
  }

  /**
   * Checks the queues at boot.
   *
   * @throws SetupError if a queue was created with another number of partitions, or if Redis does not allow this app to send the events
   *   of a queue with `broadcastEvents`
   */
  async onModuleInit(): Promise<void> {
    const { logger } = this;
    const checks = (parts: QueueParts) => [parts.checkPartitions(logger), parts.checkBroadcast(logger)];
    await Promise.all(this.allParts.flatMap(checks));
  }

  /** Starts to run tasks, in each queue for which the option `work` allows it. */
  onApplicationBootstrap(): void {
    for (const parts of this.allParts) parts.boot();
  }

  /**
   * Begins the shutdown: the workers take no more tasks, wait up to `drainMs` for running handlers, and then give the unfinished tasks back
   * to Redis. Handlers may schedule tasks meanwhile.
   */
  onModuleDestroy(): void {
    const close = (): Promise<unknown> => Promise.all(this.allParts.map(({ worker }) => worker.close()));
    this.closing ??= draining(close().then(() => undefined));
  }

  /** Waits for the end of the shutdown that `onModuleDestroy` has begun. */
  beforeApplicationShutdown(): Promise<void> | undefined {
    this.onModuleDestroy();
    return this.closing;
  }

  /** Returns the state of this process for `luanest/testing`. */
  [INSPECT](): TaskInspection {
    const all = this.allParts;
    return {
      working: all.some(({ worker }) => worker.running),
      handles: (name) => all.some(({ handlers }) => handlers.of(name) !== undefined),
      watch: (watcher) => {
        for (const parts of all) parts.watcher = watcher;
      },
    };
  }

  /** Returns functions for `luanest/outbox`, which must check tasks without sending them. */
  [OUTBOX](): TaskOutbox {
    return {
      prepare: (task, payload, options) =>
        this.partsOf(queueOf(task, checkScheduling(options))).tasks.prepare(task, payload, options),
      has: (queue) => this.queues.has(queue),
    };
  }

  /** Returns the queues for `luanest/console`. */
  [CONSOLE](): readonly QueueConsole[] {
    return [...this.queues.values()].map(({ parts, queue }) => new QueueConsole(parts, queue));
  }

  protected override route(queue: string): QueueParts {
    return this.of(queue).parts;
  }

  private get allParts(): QueueParts[] {
    return [...this.queues.values()].map(({ parts }) => parts);
  }

  private of(name: string): { readonly parts: QueueParts; readonly queue: DelayedTaskQueue } {
    const found = this.queues.get(name);
    if (found) return found;
    throw taskInput.error(
      `DelayedTaskModule has no queue ${shown(name)}. Its queues: ${[...this.queues.keys()].join(', ')}. Add the queue to the option queues.`,
    );
  }
}
