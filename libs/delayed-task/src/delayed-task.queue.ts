import { shown, type Page } from '../../internal/src';
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

/**
 * Returns the name of the queue for a new task, as the task or its definition names it.
 *
 * @throws InvalidInputError if the task and its definition name different queues
 */
export function queueOf(task: unknown, { queue }: { readonly queue?: string }): string | undefined {
  const own = (task as TaskDefinition | undefined)?.queue;
  if (own !== undefined && queue !== undefined && own !== queue) {
    throw taskInput.error(
      `The option queue is ${shown(queue)}, but the definition of the task has the queue ${shown(own)}. Leave the option out.`,
    );
  }
  return own ?? queue;
}

/**
 * Schedules, reads and changes the tasks of one queue. `DelayedTaskService` itself is the first queue of an app, and its method
 * `queue(name)` returns the others.
 */
export class DelayedTaskQueue {
  constructor(protected readonly parts: QueueParts) {}

  /**
   * Schedules a task. If the call fails, you can repeat it if you set an `id` and `onConflict` is `keep`, the default: while the task
   * exists, it is not scheduled a second time.
   *
   * @param task name of the task, 1 to 128 characters, or its definition from `defineTask`. The name selects the handler
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
      parts = this.partsOf(queueOf(task, checkScheduling(options)));
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
   * Schedules many tasks. Sends them to Redis in several steps, each with at most 100 tasks of one partition and at most 4,194,304
   * characters (or one larger task). Each step is atomic. If a step fails, the tasks of other steps may be scheduled. After
   * UnknownOutcomeError, the tasks of the failed step may be scheduled, too. If each task has an `id` and `onConflict` is `keep`, you can
   * repeat the call after an error: a task that exists is not scheduled a second time.
   *
   * @param tasks tasks of one queue
   * @returns one result for each task, in the order of the tasks
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
   * Removes a waiting task, or a task whose lease has ended. A running task stays, unless you set `evenRunning`; the result of its attempt
   * is then ignored. A dead letter stays, too; use `drop` for dead letters.
   *
   * @returns `cancelled` if the task was removed; `running` or `dead` if it was not; `unknown` if no task has the id, or the task is done
   * @throws InvalidInputError; the errors of ScriptRegistry.run()
   */
  cancel(id: string, options: { readonly evenRunning?: boolean } = {}): Promise<CancelResult> {
    return this.parts.tasks.cancel(id, options.evenRunning === true ? 'running' : 'all');
  }

  /**
   * Removes the tasks that wait for their first or a later attempt. Does not remove running tasks and dead letters. May also remove tasks
   * that are scheduled during the call. If the call fails halfway, call it again.
   *
   * @param filter selects the tasks with this `name`, `group` or both; each has 1 to 128 characters. Default: all tasks
   * @returns the number of tasks that were removed
   * @throws InvalidInputError, before anything is sent; the errors of ScriptRegistry.run()
   */
  cancelAll(filter: { readonly name?: string; readonly group?: string } = {}): Promise<number> {
    return this.parts.pages.cancelAll(filter);
  }

  /**
   * Changes the due time of a task that waits for its first or a later attempt.
   *
   * @param time the new due time; `{}` means now
   * @throws InvalidInputError; the errors of ScriptRegistry.run()
   */
  reschedule(id: string, time: DueTime): Promise<RescheduleResult> {
    return this.parts.tasks.reschedule(id, time, 'due');
  }

  /**
   * Returns a task. Returns undefined if no task has the id, or if Redis does not keep the result of a finished task any more (see
   * `keepResultMs`).
   *
   * @param task definition of the task, for the type of the payload
   * @throws InvalidInputError for an invalid id, or if the task is not done and has another name than the definition; the errors of
   *   ScriptRegistry.run()
   */
  async get<Payload = unknown>(id: string, task?: TaskDefinition<Payload>): Promise<TaskView<Payload> | undefined> {
    return this.partsOf(task?.queue).tasks.get(id, task) as Promise<TaskView<Payload> | undefined>;
  }

  /**
   * Waits until a task is done or a dead letter. Reads the task from Redis at first every few milliseconds, and later every 500 ms. To get
   * the result, set `keepResultMs` of the task to more than 1,000 ms.
   *
   * @param options `timeoutMs`: longest time to wait, ms; integer from 0 to 2^31 - 1, default 30,000
   * @returns the task; after `timeoutMs`, the task with the `state` `waiting` or `running`. Undefined if no task has the id: the task was
   *   removed, or it is done and Redis keeps no result
   * @throws InvalidInputError; the errors of ScriptRegistry.run()
   */
  waitFor(id: string, options: { readonly timeoutMs?: number } = {}): Promise<TaskView | undefined> {
    return this.parts.tasks.waitFor(id, options);
  }

  /**
   * Returns a page of the tasks in a state. The order is: partition by partition, and in each partition by `atMs`. Tasks that wait for
   * other tasks of their group come at the end of their partition. If the state, the time and the position of a task do not change between
   * the first and the last page, the task is listed exactly once. A task that was scheduled with `onConflict: 'after'` is listed a moment
   * after the task before it has ended, when a worker has found it.
   *
   * @param options `state` of the tasks; `name` and `group`: only tasks with these, default: all; `limit`: maximum number of items, 1 to
   *   256, default 100; `cursor`: the `nextCursor` of the page before. With `name` or `group`, a page may have fewer items than `limit`
   *   although it has a `nextCursor`, because one call reads at most 2,048 tasks
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
   * Creates or changes a schedule: a rule that creates a task at each of its times, such as every day at 6:00. One task with the id
   * `<id>@<ms of the time>` is created for each time, and one of the workers runs it. Call this method at each boot, in each process. An
   * unchanged schedule stays as it is. A changed one begins with its first time after now. If times were missed because no worker ran or
   * the queue was paused, one task is created for all of them.
   *
   * @param id text of 1 to 200 characters without control characters
   * @param rule `{ cron, timeZone }` or `{ everyMs }`, see ScheduleRule
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
   * Removes a schedule. A task that the schedule has already created stays; use `cancel` for it.
   *
   * @returns true if a schedule had this id
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
   * Returns a page of the schedules. The order is: partition by partition, and in each partition by the time of the next task. A page may
   * have fewer items than `limit` although it has a `nextCursor`, because one call reads at most 2,048 waiting tasks and schedules.
   *
   * @param options `limit`: maximum number of items, 1 to 256, default 100; `cursor`: the `nextCursor` of the page before
   * @throws InvalidInputError; the errors of ScriptRegistry.run()
   */
  async listSchedules(
    options: { readonly limit?: number; readonly cursor?: string } = {},
  ): Promise<Page<ScheduleView>> {
    const { limit = 100, cursor } = taskInput.options('', options, { limit: true, cursor: true });
    return this.parts.schedules.list(limit, cursor);
  }

  /**
   * Returns a page of the dead letters. The order is: partition by partition, and in each partition the oldest first. A dead letter that
   * exists from the first page to the last is listed exactly once, even if others are replayed, dropped or added between two pages. Dead
   * letters that are added to a partition after its first page was read are not listed, so that the list ends.
   *
   * @param options `limit`: maximum number of items, 1 to 256, default 100; `cursor`: the `nextCursor` of the page before
   * @throws InvalidInputError; the errors of ScriptRegistry.run()
   */
  deadLetters(options: { readonly limit?: number; readonly cursor?: string } = {}): Promise<Page<DeadLetter>> {
    return this.parts.dead.page(options.limit ?? 100, options.cursor);
  }

  /**
   * Schedules dead letters again. The tasks start again at attempt 1. If the call fails halfway, call it again.
   *
   * @param ids ids of dead letters, from `deadLetters`
   * @param time when the tasks are due; default: now
   * @returns the number of tasks that were replayed. Ids that are not ids of dead letters do not count
   * @throws InvalidInputError, before anything is sent; the errors of ScriptRegistry.run()
   */
  replay(ids: readonly string[], time: DueTime = {}): Promise<number> {
    return this.parts.dead.each('replay', ids, time);
  }

  /**
   * Removes dead letters.
   *
   * @param ids ids of dead letters, from `deadLetters`
   * @returns the number of dead letters that were removed
   * @throws the errors of `replay`
   */
  drop(ids: readonly string[]): Promise<number> {
    return this.parts.dead.each('drop', ids, {});
  }

  /**
   * Replays the dead letters that a filter selects: schedules each of them again, due now. Handles 100 dead letters in each call of a
   * script. The tasks start again at attempt 1. If a task is dead-lettered after the call has reached its partition, it is not replayed,
   * so that the call ends. If the call fails halfway, call it again.
   *
   * @param filter selects dead letters; default: all
   * @returns the number of tasks that were replayed
   * @throws InvalidInputError for an invalid filter, before anything is sent; the errors of ScriptRegistry.run()
   */
  replayAll(filter: DeadFilter = {}): Promise<number> {
    return this.parts.dead.clear('replay', filter);
  }

  /**
   * Removes the dead letters that a filter selects. Handles 100 dead letters in each call of a script. If a task is dead-lettered after
   * the call has reached its partition, it is not removed, so that the call ends. If the call fails halfway, call it again.
   *
   * @param filter selects dead letters; default: all
   * @returns the number of tasks that were dropped
   * @throws InvalidInputError for an invalid filter, before anything is sent; the errors of ScriptRegistry.run()
   */
  dropAll(filter: DeadFilter = {}): Promise<number> {
    return this.parts.dead.clear('drop', filter);
  }

  /**
   * Starts to run tasks of the queue in this process, even if the option `work` is false. Before the app has started, the tasks wait for
   * that start. During a shutdown, this method does nothing.
   */
  start(): void {
    this.parts.startWork();
  }

  /**
   * Pauses the queue: no process starts tasks of the queue until you call `resume`. Running tasks continue, and a task that another process
   * is just taking may still start. You can schedule tasks during a pause. The pause is stored in Redis, so it continues even if all
   * processes restart.
   *
   * @param options `group`, 1 to 128 characters: pauses only that group. After the call has returned, no worker starts a task of the group,
   *   except tasks whose worker died: other workers take these again. Default: the whole queue
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
   * @param options `group`, 1 to 128 characters: ends the pause of that group. Default: ends the pause of the queue
   * @throws InvalidInputError, before anything is sent; the errors of ScriptRegistry.run()
   */
  async resume(options: { readonly group?: string } = {}): Promise<void> {
    const { group } = taskInput.options('', options, { group: true });
    if (group !== undefined) return this.parts.tasks.pauseGroup(group, 'resume');
    await this.parts.tasks.pause('resume');
  }

  /**
   * Calls a function for each event of the tasks of the queue. The events come from all processes with the option `broadcastEvents`. There
   * are three: an attempt ended (`attemptSettled`), a handler reported its progress (`progressReported`), or events may be missing
   * (`missed`). Redis does not store events, so a listener gets each of them at most once. The events of one attempt arrive in order; those
   * of different processes may not. A process need not run tasks to listen. A shutdown removes the listener.
   *
   * @param listener function that gets each event. If it throws, the error is logged, and the listener still gets the next events. A
   *   promise that it returns is not awaited
   * @returns a function that stops listening
   * @throws InvalidInputError if `listener` is not a function; ClosedError if the app is shutting down; NotSentError if Redis is
   *   unavailable, has no sharded channels, or does not allow the app's Redis user to use the channel
   */
  onEvents(listener: (event: TaskEvents[keyof TaskEvents]) => unknown): Promise<() => void> {
    return this.parts.worker.listeners.add(listener);
  }

  /** Counts the waiting, overdue, running and dead-lettered tasks of the queue. @throws the errors of ScriptRegistry.run() */
  stats(): Promise<QueueStats> {
    return this.parts.tasks.stats();
  }

  /**
   * Registers a function as the handler of all tasks with a name in this process. Guards, pipes, interceptors and filters do not apply to
   * it. The handler stays until the app shuts down.
   *
   * See DECISIONS.md: a-handler-stays-until-shutdown
   *
   * @throws SetupError if the name already has a handler, or `handler` is not a function; InvalidInputError for an invalid name;
   *   InvalidOptionError for an invalid `timeoutMs` of a definition that does not come from `defineTask`
   */
  handle<Payload>(task: TaskDefinition<Payload>, handler: TaskHandler<Payload>): void;
  handle(name: string, handler: TaskHandler): void;
  handle(task: string | TaskDefinition, handler: TaskHandler): void {
    const definition = definitionOf(task);
    this.partsOf(definition.queue).handle(definition, handler);
  }

  /** Returns the QueueParts of a queue. @param queue name from a task or its definition; undefined means this queue */
  protected partsOf(queue: string | undefined): QueueParts {
    return queue === undefined ? this.parts : this.route(queue);
  }

  /** @throws InvalidInputError if the queue is not found, or if this object is another queue */
  protected route(queue: string): QueueParts {
    const { namespace } = this.parts.options;
    if (queue === namespace) return this.parts;
    throw taskInput.error(
      `The task belongs to queue ${shown(queue)}, but this object is queue ${shown(namespace)}. Call DelayedTaskService.queue(${shown(queue)}).`,
    );
  }

  private routeAll(tasks: readonly NewTask[]): QueueParts {
    taskInput.list('tasks', tasks, 'an array of tasks');
    let first: QueueParts | undefined;
    for (const task of tasks as readonly (Partial<NewTask> & { readonly task?: unknown })[]) {
      const parts = this.partsOf(queueOf(task?.task, task ?? {}));
      first ??= parts;
      if (parts === first) continue;
      const names = [first, parts].map(({ options }) => shown(options.namespace));
      throw taskInput.error(
        `The tasks belong to several queues, ${names.join(' and ')}, so none was scheduled. Call scheduleMany once for each queue.`,
      );
    }
    return first ?? this.parts;
  }
}
