import type { Page } from '../../worker/src';
import { shown } from '../../internal/src';
import type {
  CancelResult,
  ConflictOptions,
  DeadFilter,
  DeadLetter,
  DueTime,
  NewTask,
  QueueStats,
  RescheduleResult,
  ScheduleOptions,
  ScheduledTask,
  ScheduleResult,
  ScheduleRule,
  ScheduleView,
  TaskDefinition,
  TaskHandler,
  TaskView,
} from './delayed-task.types';
import type { TaskEvents } from './delayed-task.events';
import type { QueueParts } from './queue/queue-parts';
import { checkScheduling, definitionOf, taskInput } from './queue/task-codec';

/** Returns the queue that a task names. @throws InvalidInputError if the task and its definition name different ones */
export function queueOf(task: unknown, { queue }: { readonly queue?: string }): string | undefined {
  const own = (task as TaskDefinition | undefined)?.queue;
  if (own !== undefined && queue !== undefined && own !== queue) {
    throw taskInput.error(
      `queue is ${shown(queue)}, but the definition of the task names ${shown(own)}. Leave it out.`,
    );
  }
  return own ?? queue;
}

/**
 * The tasks of one queue. `DelayedTaskService` is the first queue of an app, and its `queue(name)` returns the others, which the option
 * `queues` of the module names.
 */
export class DelayedTaskQueue {
  constructor(protected readonly parts: QueueParts) {}

  /**
   * Schedules a task. With an `id` and `onConflict: 'keep'`, repeat the call after an error: while the task exists, it is not
   * scheduled twice.
   *
   * @param task name that selects the handler, 1 to 128 characters, or the definition of the tasks
   * @param payload JSON data of at most `maxPayloadBytes`; undefined is stored as null
   * @throws InvalidInputError before anything is sent; the errors of ScriptRegistry.run()
   *
   * @example
   * ```ts
   * // With an id of yours, a second call schedules no second task.
   * await tasks.schedule('order.expire', { orderId }, { id: `expire-${orderId}`, delayMs: 30 * 60_000 });
   * ```
   */
  schedule<Payload>(
    task: TaskDefinition<Payload>,
    payload: NoInfer<Payload>,
    options?: ScheduleOptions,
  ): Promise<ScheduleResult>;
  schedule(name: string, payload?: unknown, options?: ScheduleOptions): Promise<ScheduleResult>;
  schedule(task: string | TaskDefinition, payload?: unknown, options: ScheduleOptions = {}): Promise<ScheduleResult> {
    let parts: QueueParts;
    try {
      parts = this.route(queueOf(task, checkScheduling(options)));
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
    const result = parts.tasks.scheduleOne(task, payload, options);
    if (parts.watcher) {
      const named = typeof task === 'string' ? { name: task } : { task };
      const results = result.then((one) => [one]);
      parts.watcher([{ ...options, ...named, payload }], {}, results);
    }
    return result;
  }

  /**
   * Schedules tasks, in steps of up to 100 tasks of a partition and 4,194,304 characters; a larger task is a step of its own. Each
   * step is atomic. If a step fails, the tasks of other steps, and after UnknownOutcomeError its own, may be scheduled. If each task
   * has an `id` and `onConflict` is `keep`, repeat the call after an error: a task that exists is not scheduled twice.
   *
   * @returns one result for each task, in the order of the tasks. All tasks must be of one queue
   * @throws InvalidInputError before anything is sent; the errors of ScriptRegistry.run()
   */
  async scheduleMany<Payloads extends readonly unknown[]>(
    tasks: { readonly [Index in keyof Payloads]: NewTask<Payloads[Index]> },
    options: ConflictOptions = {},
  ): Promise<ScheduleResult[]> {
    const parts = this.routeAll(tasks);
    const results = parts.tasks.schedule(tasks, options);
    parts.watcher?.(tasks, options, results);
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
    return this.parts.tasks.cancel(id, options.evenRunning === true ? 'running' : 'all');
  }

  /**
   * Removes the tasks that wait, for their first or a later attempt. Running tasks and dead letters stay. Tasks that are scheduled
   * meanwhile may be removed, too. If the call fails halfway, call it again.
   *
   * @param filter `name` and `group` of the tasks, each of 1 to 128 characters; default: any
   * @returns the number of tasks that were removed
   * @throws InvalidInputError, before anything is sent; the errors of ScriptRegistry.run()
   */
  cancelAll(filter: { readonly name?: string; readonly group?: string } = {}): Promise<number> {
    return this.parts.pages.cancelAll(filter);
  }

  /**
   * Changes the due time of a task that waits for its first or a later attempt.
   *
   * @param time the new due time; `{}`: now
   * @throws InvalidInputError; the errors of ScriptRegistry.run()
   */
  reschedule(id: string, time: DueTime): Promise<RescheduleResult> {
    return this.parts.tasks.reschedule(id, time, 'due');
  }

  /**
   * Returns a task; undefined if no task has the id, or the task was done more than `keepResultMs` ago.
   *
   * @param task definition of the task, for the type of the payload
   * @throws InvalidInputError, also if a task that is not done has another name than the definition; the errors of ScriptRegistry.run()
   */
  async get<Payload = unknown>(id: string, task?: TaskDefinition<Payload>): Promise<TaskView<Payload> | undefined> {
    return this.route(task?.queue).tasks.get(id, task) as Promise<TaskView<Payload> | undefined>;
  }

  /**
   * Waits until a task is done or a dead letter. Asks Redis, at first every few milliseconds and later twice a second. To get the result,
   * give the task a `keepResultMs` that is longer than a second.
   *
   * @param options `timeoutMs`: how long to wait, ms; integer from 0 to 2^31 - 1, default 30,000
   * @returns the task; undefined for an unknown id: the task was removed, or was done and has no result. If the time is over
   *   first, the task as it is then: its `state` is `waiting` or `running`
   * @throws InvalidInputError; the errors of ScriptRegistry.run()
   */
  waitFor(id: string, options: { readonly timeoutMs?: number } = {}): Promise<TaskView | undefined> {
    return this.parts.tasks.waitFor(id, options);
  }

  /**
   * Returns a page of the tasks of a state: partition by partition, by their time (`atMs`); those that wait for the turn of their group
   * come after the others of the partition. A task that stays in its state and keeps its time and its place from the first page to the
   * last is listed once. A task that follows another one (`onConflict: 'after'`) waits from the end of that one, but is listed only when
   * a worker has found it.
   *
   * @param options `state`; `name` and `group` of the tasks, default: any; `limit` of 1 to 256, default 100; `cursor`, the `nextCursor`
   *   of the page before. With `name` or `group`, a page may have fewer items than `limit`, and still a `nextCursor`: one call looks at 2,048 tasks
   * @throws InvalidInputError; the errors of ScriptRegistry.run()
   */
  list(options: {
    readonly state: 'waiting' | 'running' | 'dead';
    readonly name?: string;
    readonly group?: string;
    readonly limit?: number;
    readonly cursor?: string;
  }): Promise<Page<TaskView>> {
    return this.parts.pages.list(options);
  }

  /**
   * Makes or changes a schedule: a task that is scheduled again and again, at the slots of a rule. Each slot has one task, which any
   * worker runs; its id is `<id>@<ms of the slot>`. Call it at each boot, in each process: a schedule that is the same stays as it is. A
   * changed one begins with its first slot after now. Slots that were missed, while no worker ran or the queue was paused, become one.
   *
   * @param id text of 1 to 200 characters without control characters
   * @param rule `{ cron, timeZone }` or `{ everyMs }`
   * @param task name or definition, payload, and settings such as `group` and `attempts`
   * @throws InvalidInputError, before anything is sent; the errors of ScriptRegistry.run()
   *
   * @example
   * ```ts
   * await tasks.upsertSchedule('daily-report', { cron: '0 6 * * *', timeZone: 'Europe/Berlin' }, { name: 'report.send' });
   * ```
   */
  async upsertSchedule<Payload>(
    id: string,
    rule: ScheduleRule,
    task: ScheduledTask<Payload>,
  ): Promise<{ readonly nextRunAtMs: number }> {
    return this.routeAll([task]).schedules.upsert(id, rule, task);
  }

  /**
   * Removes a schedule. A task of it that waits or runs stays; `cancel` removes it.
   *
   * @returns true if there was one
   * @throws InvalidInputError; the errors of ScriptRegistry.run()
   */
  async removeSchedule(id: string): Promise<boolean> {
    return this.parts.schedules.remove(id);
  }

  /** Returns a schedule; undefined for an unknown id. @throws InvalidInputError; the errors of ScriptRegistry.run() */
  async getSchedule(id: string): Promise<ScheduleView | undefined> {
    return this.parts.schedules.get(id);
  }

  /**
   * Returns a page of the schedules, partition by partition, by their next slot. It may have fewer items than `limit`, and still a
   * `nextCursor`: one call looks at 2,048 waiting tasks.
   *
   * @param options `limit` of 1 to 256, default 100; `cursor`, the `nextCursor` of the page before
   * @throws InvalidInputError; the errors of ScriptRegistry.run()
   */
  async listSchedules(
    options: { readonly limit?: number; readonly cursor?: string } = {},
  ): Promise<Page<ScheduleView>> {
    const { limit = 100, cursor } = taskInput.options('', options, { limit: true, cursor: true });
    return this.parts.schedules.list(limit, cursor);
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
    return this.parts.dead.page(options.limit ?? 100, options.cursor);
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
    return this.parts.dead.each('replay', ids, time);
  }

  /** Removes dead letters. Takes `ids` and throws what `replay` does. @returns the number of dead letters that were removed */
  drop(ids: readonly string[]): Promise<number> {
    return this.parts.dead.each('drop', ids, {});
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
    return this.parts.dead.clear('replay', filter);
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
    return this.parts.dead.clear('drop', filter);
  }

  /**
   * Starts to run tasks of the queue in this process, although `work` is false. Before the app has started, it takes effect when the app
   * starts. After the shutdown has begun, it does nothing.
   */
  start(): void {
    this.parts.startWork();
  }

  /**
   * Pauses the queue: no process takes tasks of it, until `resume`. Tasks that run go on. Those that another process takes at this moment
   * may still begin. Tasks can be scheduled meanwhile. A pause lasts until `resume`, even if no process runs.
   *
   * @param options `group`, 1 to 128 characters: pauses only that group. Then none of its tasks is taken after the call has returned, but
   *   those whose worker died are taken again. Default: the whole queue
   * @throws InvalidInputError, before anything is sent; the errors of ScriptRegistry.run()
   */
  async pause(options: { readonly group?: string } = {}): Promise<void> {
    const { group } = taskInput.options('', options, { group: true });
    if (group !== undefined) return this.parts.tasks.pauseGroup(group, 'pause');
    await this.parts.tasks.pause('pause');
    this.parts.worker.hold();
  }

  /**
   * Ends a pause of the queue, or of a group, in all processes. The pause of the queue and the pause of a group end separately.
   *
   * @param options `group`, 1 to 128 characters: ends the pause of that group. Default: that of the queue
   * @throws InvalidInputError, before anything is sent; the errors of ScriptRegistry.run()
   */
  async resume(options: { readonly group?: string } = {}): Promise<void> {
    const { group } = taskInput.options('', options, { group: true });
    if (group !== undefined) return this.parts.tasks.pauseGroup(group, 'resume');
    await this.parts.tasks.pause('resume');
  }

  /**
   * Calls a function at each event of the tasks of the queue in all processes with `broadcastEvents`, this one included: an attempt ended
   * (`attemptSettled`), a handler reported its progress (`progressReported`), or events may be missing (`missed`). An event comes at most
   * once, and is not stored. The events of an attempt come in their order, those of attempts in different processes may come in another.
   * It works with `work: false`, and ends when the app shuts down.
   *
   * @param listener called with each event. If it throws, a line is logged, and it gets the next events. A promise is not awaited
   * @returns a function that stops listening
   * @throws InvalidInputError if `listener` is not a function; ClosedError if the app is shutting down; NotSentError if Redis is
   *   unavailable, has no sharded channels, or refuses this one to the user
   */
  onEvents(listener: (event: TaskEvents[keyof TaskEvents]) => unknown): Promise<() => void> {
    return this.parts.worker.listeners.add(listener);
  }

  /** Returns the numbers of tasks in the queue. @throws the errors of ScriptRegistry.run() */
  stats(): Promise<QueueStats> {
    return this.parts.tasks.stats();
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
    const definition = definitionOf(task);
    this.route(definition.queue).handle(definition, handler);
  }

  /** Returns the parts of the queue that a task or its definition names. @throws InvalidInputError if that is another queue */
  protected route(queue: string | undefined): QueueParts {
    const { namespace } = this.parts.options;
    if (queue === undefined || queue === namespace) return this.parts;
    throw taskInput.error(
      `The task is of queue ${shown(queue)}, and this is queue ${shown(namespace)}. Call DelayedTaskService, or its queue(name).`,
    );
  }

  private routeAll(tasks: readonly NewTask[]): QueueParts {
    taskInput.list('tasks', tasks, 'an array of tasks');
    let first: QueueParts | undefined;
    for (const task of tasks as readonly (Partial<NewTask> & { readonly task?: unknown })[]) {
      const parts = this.route(queueOf(task?.task, task ?? {}));
      first ??= parts;
      if (parts === first) continue;
      const names = [first, parts].map(({ options }) => shown(options.namespace));
      throw taskInput.error(`tasks are of the queues ${names.join(' and ')}. Call scheduleMany for each queue.`);
    }
    return first ?? this.parts;
  }
}
