import { Logger, type BeforeApplicationShutdown, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import type { ScriptRegistry } from 'luanest/script-registry';
import { DelayedTaskSetupError } from './delayed-task.errors';
import type { ResolvedDelayedTaskOptions } from './delayed-task.options';
import type {
  CancelAnswer,
  ConflictOptions,
  DeadFilter,
  DeadPage,
  DueTime,
  HandlerOptions,
  NewTask,
  QueueStats,
  RescheduleAnswer,
  ScheduleAnswer,
  ScheduleOptions,
  TaskHandler,
  TaskView,
} from './delayed-task.types';
import { DeadLetters } from './queue/dead-letters';
import { checkScheduling } from './queue/task-codec';
import { TaskQueue } from './queue/task-queue';
import { Handlers } from './worker/handler-registry';
import { Worker } from './worker/worker';

/** Schedules tasks, and runs those for which this process has handlers. */
export class DelayedTaskService implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(DelayedTaskService.name);
  private readonly queue: TaskQueue;
  private readonly dead: DeadLetters;
  private readonly handlers: Handlers;
  private readonly worker: Worker;
  private booted = false;

  constructor(
    registry: ScriptRegistry,
    private readonly options: ResolvedDelayedTaskOptions,
  ) {
    this.queue = new TaskQueue(registry, options);
    this.dead = new DeadLetters(this.queue);
    this.handlers = new Handlers(options);
    this.worker = new Worker(this.queue, this.handlers, options);
  }

  /**
   * Puts a task into the queue. With an id, repeating a call whose answer was lost is harmless.
   *
   * @param name finds the handler; 1 to 128 characters
   * @param payload JSON data, at most `maxPayloadBytes`; undefined is kept as null
   * @throws InvalidTaskError, TaskTooLargeError before anything is sent; errors of the registry
   */
  async schedule(name: string, payload?: unknown, options: ScheduleOptions = {}): Promise<ScheduleAnswer> {
    const [answer] = await this.queue.schedule([{ ...checkScheduling(options), name, payload }], options);
    return answer as ScheduleAnswer;
  }

  /**
   * Puts tasks into the queue, up to 100 of a partition, and about 4 MiB, at once. Atomic for each of these, not for all: when one fails,
   * those before it stay, and with ids of your own the call can be repeated.
   *
   * @returns answers in the order of the tasks
   * @throws InvalidTaskError, TaskTooLargeError before anything is sent; errors of the registry
   */
  scheduleMany(tasks: readonly NewTask[], options: ConflictOptions = {}): Promise<ScheduleAnswer[]> {
    return this.queue.schedule(tasks, options);
  }

  /**
   * Forgets a task that waits. A running one stays, and is answered as `running`, unless `evenRunning`: then it is
   * forgotten, and what its attempt comes to changes nothing any more. A dead one stays: `drop` it.
   *
   * @throws InvalidTaskError; errors of the registry
   */
  cancel(id: string, options: { readonly evenRunning?: boolean } = {}): Promise<CancelAnswer> {
    return this.queue.cancel(id, options.evenRunning === true ? 'running' : 'all');
  }

  /**
   * Lets a task that waits, for its first or a later attempt, be due at another time.
   *
   * @throws InvalidTaskError; errors of the registry
   */
  reschedule(id: string, time: DueTime): Promise<RescheduleAnswer> {
    return this.queue.reschedule(id, time, 'due');
  }

  /** What is known of a task; undefined when nothing is, as after it was done without keeping its result. */
  get(id: string): Promise<TaskView | undefined> {
    return this.queue.get(id);
  }

  /**
   * Returns a page of the tasks that failed for good: partition by partition, the oldest first. Each task that is dead from
   * the first page to the last is listed once, also when others are replayed, dropped or die between two pages. Tasks that
   * die after their partition's first page was read are left out, so the pages end.
   *
   * @param options limit 1 to 256, default 100; the `nextCursor` of the page before
   * @throws InvalidTaskError; errors of the registry
   */
  deadLetters(options: { readonly limit?: number; readonly cursor?: string } = {}): Promise<DeadPage> {
    return this.dead.page(options.limit ?? 100, options.cursor);
  }

  /** Makes a dead task due again, with all its attempts. @returns `unknown` when no dead task has the id */
  async replay(id: string, time: DueTime = {}): Promise<'replayed' | 'unknown'> {
    const { status } = await this.queue.reschedule(id, time, 'dead');
    return status === 'rescheduled' ? 'replayed' : 'unknown';
  }

  /** Forgets a dead task. @returns `unknown` when no dead task has the id */
  async drop(id: string): Promise<'dropped' | 'unknown'> {
    return (await this.queue.cancel(id, 'dead')) === 'cancelled' ? 'dropped' : 'unknown';
  }

  /**
   * Makes all dead tasks due now, with all their attempts, in steps of 100. Tasks that die after the call began stay dead,
   * so it ends. When it fails halfway, call it again.
   *
   * @returns how many were replayed
   * @throws InvalidTaskError for a filter that is invalid, before anything is sent; errors of the registry
   */
  replayAll(filter: DeadFilter = {}): Promise<number> {
    return this.dead.clear('replay', filter);
  }

  /**
   * Forgets all dead tasks, in steps of 100. Tasks that die after the call began stay. When it fails halfway, call it again.
   *
   * @returns how many were dropped
   * @throws InvalidTaskError for a filter that is invalid, before anything is sent; errors of the registry
   */
  dropAll(filter: DeadFilter = {}): Promise<number> {
    return this.dead.clear('drop', filter);
  }

  /** How many tasks the queue holds, and how late it is. */
  stats(): Promise<QueueStats> {
    return this.queue.stats();
  }

  /**
   * Runs tasks of a name in this process, as `@DelayedTask(name)` does.
   *
   * @throws DelayedTaskSetupError when the name has a handler; InvalidTaskError, InvalidOptionError
   */
  process(name: string, handler: TaskHandler, options: HandlerOptions = {}): void {
    this.handlers.add(name, handler, options);
    if (this.booted) this.start();
  }

  /** @throws DelayedTaskSetupError when the queue was laid out otherwise */
  async onModuleInit(): Promise<void> {
    const { queue, partitions } = this.options;
    let noted: number;
    try {
      noted = await this.queue.notedPartitions();
    } catch (error) {
      this.logger.warn(`Queue ${queue}: Redis does not say how it is laid out (${String(error)}).`);
      return;
    }
    if (noted === partitions) return;
    throw new DelayedTaskSetupError(
      `Queue ${queue} has ${noted} partitions and this app asks for ${partitions}, so it would not find the tasks of the others. ` +
        `Use ${noted}, or another queue; or empty this one and delete ${this.queue.partitions.layout}.`,
    );
  }

  /** Begins to run tasks. */
  onApplicationBootstrap(): void {
    this.booted = true;
    this.start();
  }

  /** Takes nothing new, waits for what runs, and hands the rest back. Tasks may still be scheduled meanwhile. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.worker.close();
  }

  private start(): void {
    if (this.options.work ?? !this.handlers.empty) this.worker.start();
  }
}
