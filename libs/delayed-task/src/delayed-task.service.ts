import {
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import type { ScriptRegistry } from 'luanest/script-registry';
import { definitionOf } from './queue/task-codec';
import type { ResolvedDelayedTaskOptions } from './delayed-task.options';
import type {
  CancelResult,
  ConflictOptions,
  DeadFilter,
  DeadLetter,
  DueTime,
  NewTask,
  QueueStats,
  RescheduleResult,
  ScheduleResult,
  ScheduleOptions,
  ScheduleWatcher,
  TaskDefinition,
  TaskHandler,
  TaskInspection,
  TaskView,
} from './delayed-task.types';
import type { Page } from '../../worker/src';
import { DeadLetters } from './queue/dead-letters';
import { draining, INSPECT, SetupError, thrownText } from '../../internal/src';
import { TaskQueue } from './queue/task-queue';
import { Handlers, Worker } from './worker/worker';

/** Schedules tasks, and runs the tasks for whose names this process has handlers. */
export class DelayedTaskService
  implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown
{
  private readonly logger = new Logger(DelayedTaskService.name);
  private readonly queue: TaskQueue;
  private readonly dead: DeadLetters;
  private readonly worker: Worker;
  private booted = false;
  private closing: Promise<void> | undefined;
  private watcher: ScheduleWatcher | undefined;

  constructor(
    registry: ScriptRegistry,
    private readonly options: ResolvedDelayedTaskOptions,
    private readonly handlers = new Handlers(options),
  ) {
    this.queue = new TaskQueue(registry, options);
    this.dead = new DeadLetters(this.queue);
    this.worker = new Worker(this.queue, handlers, options);
  }

  /**
   * Schedules a task. With an `id` and `onConflict: 'keep'`, repeat the call after an error: while the task exists, it is not
   * scheduled twice.
   *
   * @param task name that selects the handler, 1 to 128 characters, or the definition of the tasks
   * @param payload JSON data of at most `maxPayloadBytes`; undefined is stored as null
   * @throws InvalidInputError before anything is sent; the errors of ScriptRegistry.run()
   */
  schedule<Payload>(
    task: TaskDefinition<Payload>,
    payload: NoInfer<Payload>,
    options?: ScheduleOptions,
  ): Promise<ScheduleResult>;
  schedule(name: string, payload?: unknown, options?: ScheduleOptions): Promise<ScheduleResult>;
  schedule(task: string | TaskDefinition, payload?: unknown, options: ScheduleOptions = {}): Promise<ScheduleResult> {
    const result = this.queue.scheduleOne(task, payload, options);
    if (this.watcher) {
      const named = typeof task === 'string' ? { name: task } : { task };
      const results = result.then((one) => [one]);
      this.watcher([{ ...options, ...named, payload }], {}, results);
    }
    return result;
  }

  /**
   * Schedules tasks, in steps of up to 100 tasks of a partition and 4,194,304 characters; a larger task is a step of its own. Each
   * step is atomic. If a step fails, the tasks of other steps, and after UnknownOutcomeError its own, may be scheduled. If each task
   * has an `id` and `onConflict` is `keep`, repeat the call after an error: a task that exists is not scheduled twice.
   *
   * @returns one result for each task, in the order of the tasks
   * @throws InvalidInputError before anything is sent; the errors of ScriptRegistry.run()
   */
  scheduleMany<Payloads extends readonly unknown[]>(
    tasks: { readonly [Index in keyof Payloads]: NewTask<Payloads[Index]> },
    options: ConflictOptions = {},
  ): Promise<ScheduleResult[]> {
    const results = this.queue.schedule(tasks, options);
    this.watcher?.(tasks, options, results);
    return results;
  }

  /**
   * Removes a waiting task, or one whose lease has ended. A running task stays, and the call returns `running`. With
   * `evenRunning: true`, a running task is removed as well, and the outcome of its attempt changes nothing. A dead letter stays,
   * and the call returns `dead`; `drop` removes dead letters.
   *
   * @returns `unknown` if no task has the id, or the task is done
   * @throws InvalidInputError; the errors of ScriptRegistry.run()
   */
  cancel(id: string, options: { readonly evenRunning?: boolean } = {}): Promise<CancelResult> {
    return this.queue.cancel(id, options.evenRunning === true ? 'running' : 'all');
  }

  /**
   * Changes the due time of a task that waits for its first or a later attempt.
   *
   * @param time the new due time; `{}`: now
   * @throws InvalidInputError; the errors of ScriptRegistry.run()
   */
  reschedule(id: string, time: DueTime): Promise<RescheduleResult> {
    return this.queue.reschedule(id, time, 'due');
  }

  /**
   * Returns a task; undefined if no task has the id, or the task was done more than `keepResultMs` ago.
   *
   * @param task definition of the task, for the type of the payload
   * @throws InvalidInputError, also if a task that is not done has another name than the definition; the errors of ScriptRegistry.run()
   */
  get<Payload = unknown>(id: string, task?: TaskDefinition<Payload>): Promise<TaskView<Payload> | undefined> {
    return this.queue.get(id, task) as Promise<TaskView<Payload> | undefined>;
  }

  /**
   * Returns a page of the dead letters: partition by partition, the oldest first. A dead letter that stays from the first
   * page to the last is listed once, also if others are replayed, dropped or added between two pages. Tasks that are
   * dead-lettered in a later millisecond than that of the first page of their partition are left out, so the pages end.
   *
   * @param options `limit` of 1 to 256, default 100; `cursor`, the `nextCursor` of the page before
   * @throws InvalidInputError; the errors of ScriptRegistry.run()
   */
  deadLetters(options: { readonly limit?: number; readonly cursor?: string } = {}): Promise<Page<DeadLetter>> {
    return this.dead.page(options.limit ?? 100, options.cursor);
  }

  /**
   * Makes dead letters due again. The tasks start again at attempt 1. If the call fails halfway, call it again.
   *
   * @param ids ids of dead letters, from `deadLetters`
   * @param time when they are due; default: now
   * @returns the number of tasks that were replayed. Other ids are left out
   * @throws InvalidInputError, before anything is sent; the errors of ScriptRegistry.run()
   */
  replay(ids: readonly string[], time: DueTime = {}): Promise<number> {
    return this.dead.each('replay', ids, time);
  }

  /** Removes dead letters. Takes `ids` and throws what `replay` does. @returns the number of dead letters that were removed */
  drop(ids: readonly string[]): Promise<number> {
    return this.dead.each('drop', ids, {});
  }

  /**
   * Makes dead letters due now, in steps of 100. The tasks start again at attempt 1. Tasks that are dead-lettered in a later
   * millisecond than that in which the call reached their partition are left out, so the call ends. If it fails halfway, call it again.
   *
   * @param filter selects dead letters; default: all
   * @returns the number of tasks that were replayed
   * @throws InvalidInputError for an invalid filter, before anything is sent; the errors of ScriptRegistry.run()
   */
  replayAll(filter: DeadFilter = {}): Promise<number> {
    return this.dead.clear('replay', filter);
  }

  /**
   * Removes dead letters, in steps of 100. Tasks that are dead-lettered in a later millisecond than that in which the call
   * reached their partition are left out, so the call ends. If it fails halfway, call it again.
   *
   * @param filter selects dead letters; default: all
   * @returns the number of tasks that were dropped
   * @throws InvalidInputError for an invalid filter, before anything is sent; the errors of ScriptRegistry.run()
   */
  dropAll(filter: DeadFilter = {}): Promise<number> {
    return this.dead.clear('drop', filter);
  }

  /** Returns the numbers of tasks in the queue. @throws the errors of ScriptRegistry.run() */
  stats(): Promise<QueueStats> {
    return this.queue.stats();
  }

  /**
   * Registers a function as the handler of the tasks of a name in this process. Guards, pipes, interceptors and filters do not
   * run. The handler stays until the app shuts down.
   *
   * See DECISIONS.md: a-handler-stays-until-shutdown
   *
   * @throws SetupError if the name has a handler, or `handler` is not a function; InvalidInputError for an invalid
   *   name; InvalidOptionError for an invalid `timeoutMs` of a definition that `defineTask` did not make
   */
  handle<Payload>(task: TaskDefinition<Payload>, handler: TaskHandler<Payload>): void;
  handle(name: string, handler: TaskHandler): void;
  handle(task: string | TaskDefinition, handler: TaskHandler): void {
    this.handlers.add(definitionOf(task), handler);
    if (this.booted) this.start();
  }

  /** @throws SetupError if the queue was created with another number of partitions */
  async onModuleInit(): Promise<void> {
    const { namespace: queue, partitions } = this.options;
    let noted: number;
    try {
      noted = await this.queue.notedPartitions();
    } catch (error) {
      this.logger.warn(`Queue ${queue}: the number of partitions was not checked: ${thrownText(error)}`);
      return;
    }
    if (noted === partitions) return;
    throw new SetupError(
      `DelayedTaskModule: partitions is ${partitions}, but queue ${queue} was created with ${noted}. This app might ` +
        `not find all tasks. Set partitions to ${noted}, use another namespace, or empty this queue and delete the key ` +
        `${this.queue.partitions.layout}.`,
    );
  }

  /** Starts to run tasks, if this process is a worker. */
  onApplicationBootstrap(): void {
    this.booted = true;
    this.start();
  }

  /**
   * Takes no more tasks from now on, waits for running handlers, and hands back the tasks of handlers that still run. Handlers may
   * schedule tasks. `beforeApplicationShutdown` waits until that has ended.
   */
  onModuleDestroy(): void {
    this.closing ??= draining(this.worker.close());
  }

  /** Waits until the shutdown that `onModuleDestroy` begins has ended. */
  beforeApplicationShutdown(): Promise<void> | undefined {
    this.onModuleDestroy();
    return this.closing;
  }

  /** For `luanest/testing`. */
  [INSPECT](): TaskInspection {
    return {
      working: this.worker.running,
      handles: (name) => this.handlers.of(name) !== undefined,
      watch: (watcher) => (this.watcher = watcher),
    };
  }

  private start(): void {
    if (this.options.work ?? !this.handlers.empty) this.worker.start();
  }
}
