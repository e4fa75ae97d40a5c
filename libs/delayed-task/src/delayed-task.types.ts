import type { AttemptOptions, DeadRange, DeadWork } from '../../worker/src';

declare const PAYLOAD: unique symbol;

/** Due time of a task, by Redis' clock. Set `delayMs` or `runAtMs`, not both. If you set neither, the task is due now. */
export interface DueTime {
  /** Time from now, ms; integer from -100 years to 100 years. A negative delay means now. */
  readonly delayMs?: number;
  /** Time at which the task is due, ms since 1970; integer from 0 to 100 years after now. A time in the past means now. */
  readonly runAtMs?: number;
}

/**
 * Settings that a task, `defineTask` and the module can have. The task's own setting comes first, then that of `defineTask`, then that of
 * the module.
 */
export interface TaskSettings extends AttemptOptions {
  /** How long Redis keeps the result of the handler, ms; integer from 0 to 100 years. With 0, the result is not stored. Default 0. */
  readonly keepResultMs?: number;
}

export interface TaskOptions extends DueTime, TaskSettings {
  /**
   * Name of the queue of the task: a key of the module's option `queues`, or its `namespace`. Default: the queue of the task's definition,
   * otherwise `namespace`.
   */
  readonly queue?: string;
  /** Id of the task; text of 1 to 256 characters without control characters. Default: a new unique id. */
  readonly id?: string;
  /**
   * Group of the task, such as a tenant or a user; text of 1 to 128 characters without control characters. Groups take turns: when
   * several groups have due tasks, each group starts one task in turn. So many tasks of one group do not delay the tasks of another
   * group. Default: no group; the task does not wait for a turn.
   */
  readonly group?: string;
}

/** Rule for a new task whose id exists already. The existing task may be waiting, running or a dead letter. */
export interface ConflictOptions {
  /**
   * `keep`: the existing task stays, and the status is `kept`. `replace`: the new task replaces the existing task. If the existing task
   * runs, the result of its attempt is ignored. `after`: like `replace`, but if the existing task runs, the new task waits until this
   * attempt ends, and the status is `follows`. The existing task then gets no further attempt, even if it failed. If several calls use
   * `after` during one attempt, only the last new task runs. Default `keep`.
   */
  readonly onConflict?: 'keep' | 'replace' | 'after';
}

/** Options of `schedule`. */
export interface ScheduleOptions extends TaskOptions, ConflictOptions {
  /**
   * Idempotency key of the call; text of 1 to 256 characters without control characters. A second call with the same `operationId` and `id`
   * within `operationRetentionMs` schedules nothing, and returns the result of the first call, even if the task is done. If you set
   * `operationId` but no `id`, the id of the task is the `operationId`. Default: none.
   */
  readonly operationId?: string;
  /** How long Redis remembers the `operationId` of this call, ms; integer from 1,000 to 100 years. Default: the option of the module. */
  readonly operationRetentionMs?: number;
}

export interface NamedTask extends TaskOptions {
  /** Name of the task, which selects the handler; 1 to 128 characters. */
  readonly name: string;
  /** Payload for the handler: JSON data. undefined is stored as null. */
  readonly payload?: unknown;
}

export interface DefinedTask<Payload> extends TaskOptions {
  readonly task: TaskDefinition<Payload>;
  readonly payload: NoInfer<Payload>;
}

/** A task for `scheduleMany`. */
export type NewTask<Payload = unknown> = NamedTask | DefinedTask<Payload>;

/** Result of `schedule`, and of each task of `scheduleMany`. */
export interface ScheduleResult {
  readonly id: string;
  /** `scheduled`: no task had the id. `replaced`, `follows` or `kept`: a task with the id existed, and `onConflict` decided. */
  readonly status: 'scheduled' | 'replaced' | 'follows' | 'kept';
  /** When the task is due, ms since 1970 by Redis' clock. 0 if the status is `kept` and the existing task runs or is a dead letter. */
  readonly runAtMs: number;
}

/**
 * Function that observes the calls of `schedule` and `scheduleMany`. Gets the tasks, the options of the call, and a promise of its results,
 * which may reject.
 */
export type ScheduleWatcher = (
  tasks: readonly NewTask[],
  options: ConflictOptions,
  results: Promise<readonly ScheduleResult[]>,
) => void;

export interface TaskInspection {
  /** True while this process takes tasks. */
  readonly working: boolean;
  /** Returns true if this process has a handler for the tasks of a name. */
  handles(name: string): boolean;
  /** Makes later calls of `schedule` and `scheduleMany` also call `watcher`. */
  watch(watcher: ScheduleWatcher): void;
}

/** A task that was checked, but not scheduled. An outbox stores it as JSON, and schedules it later. */
export interface PreparedTask {
  readonly name: string;
  /** Payload as JSON. */
  readonly payload: string;
  /** Options of the call, filled up with those of the task's definition. `queue` is always set. */
  readonly options: ScheduleOptions & { readonly queue: string };
}

export interface TaskOutbox {
  /** Checks a task as `schedule` does, but does not schedule it. @throws InvalidInputError */
  prepare(task: string | TaskDefinition, payload: unknown, options: ScheduleOptions): PreparedTask;
  /** Returns true if the module has a queue of this name. */
  has(queue: string): boolean;
}

/**
 * Result of `cancel`. `cancelled`: the task was removed. `running`: the task is running, so it was not removed. `dead`: the task is a
 * dead letter, so it was not removed. `unknown`: no task has the id, or the task is done.
 */
export type CancelResult = 'cancelled' | 'running' | 'dead' | 'unknown';

/**
 * Result of `reschedule`. `rescheduled`: the due time was changed. `running`: a worker has the task, or had it until its lease ended, so
 * nothing was changed. `dead`: the task is a dead letter, so nothing was changed. `unknown`: no task has the id, or the task is done.
 */
export type RescheduleResult =
  { readonly status: 'rescheduled'; readonly runAtMs: number } | { readonly status: 'running' | 'dead' | 'unknown' };

/** The current attempt to run a task. Handlers get it as their second argument, after the payload. */
export interface TaskContext {
  readonly id: string;
  readonly name: string;
  /** Group of the task; undefined if it has no group. */
  readonly group: string | undefined;
  /** Number of this attempt; 1 for the first. */
  readonly attempt: number;
  /** Maximum number of attempts of the task. */
  readonly attempts: number;
  /**
   * Time at which this attempt was due, ms since 1970 by Redis' clock. If the attempt before it lost its lease, for example because the
   * worker died, the time at which that attempt was due.
   */
  readonly runAtMs: number;
  /** Time from `runAtMs` until a worker took the task for this attempt, ms by Redis' clock; never negative. */
  readonly lateMs: number;
  /**
   * Signal that asks the handler to stop. It is aborted after `timeoutMs`, `drainMs` after a shutdown has begun, and when this worker finds
   * that its lease has ended, or that the task was cancelled, replaced or taken by another worker.
   */
  readonly signal: AbortSignal;
  /**
   * Stores the progress of the attempt, which `get` and `waitFor` return. Redis keeps the value for `timeoutMs` + `keepResultMs` after
   * this call. When the next attempt begins, `get` no longer returns the value. Await the promise, so that an older value cannot replace
   * a newer one.
   *
   * @param value JSON data of at most 4,096 bytes
   * @throws InvalidInputError before anything is sent; LostError if the lease is lost; the errors of ScriptRegistry.run()
   */
  reportProgress(value: unknown): Promise<void>;
}

/**
 * Handler of tasks. The task is done when the handler returns, or when its promise or Observable ends. If the JSON of the returned value
 * has at most `maxPayloadBytes`, Redis keeps the value for `keepResultMs`. If the function throws an error, the attempt has failed. Return
 * or throw `retryLater({ delayMs })` for another attempt, or `deadLetter(reason)` to give up the task.
 */
// With `unknown` instead of `any`, no handler could declare the type of its payload.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type TaskHandler<Payload = any> = (payload: Payload, task: TaskContext) => unknown;

export interface TaskDefinitionOptions extends TaskSettings {
  /** Name of the tasks, which selects the handler; 1 to 128 characters. */
  readonly name: string;
  /** Queue of the tasks: one of `queues` of the module, or its `namespace`. Default: `namespace`. */
  readonly queue?: string;
  /**
   * Longest time that the handler of one attempt may run, ms; integer from 1 to 2^31 - 1. Default: the option `timeoutMs` of the module.
   */
  readonly timeoutMs?: number;
}

/** Name and settings of tasks, with the type of their payload. Create it with `defineTask`. */
export interface TaskDefinition<Payload = unknown> extends TaskDefinitionOptions {
  /** Marks the type of the payload for the compiler. No object has this property. */
  readonly [PAYLOAD]?: Payload;
}

/**
 * Rule that decides when a schedule runs its task. `cron`: a cron expression of 5 or 6 fields, as in @nestjs/schedule. `timeZone`: the
 * time zone of the expression, such as `Asia/Shanghai`; default `UTC`. `everyMs`: runs the task each `everyMs`, counted from 1970, so at
 * the multiples of `everyMs`; ms, integer from 1,000 to 100 years.
 */
export type ScheduleRule = { readonly cron: string; readonly timeZone?: string } | { readonly everyMs: number };

/** Task of a schedule. It has no id and no due time, because the schedule sets both. */
export type ScheduledTask<Payload = unknown> =
  Omit<NamedTask, keyof DueTime | 'id'> | Omit<DefinedTask<Payload>, keyof DueTime | 'id'>;

export interface ScheduleView {
  readonly id: string;
  readonly rule: ScheduleRule;
  readonly name: string;
  readonly group: string | undefined;
  readonly payload: unknown;
  /** When the next task of the schedule is due, ms since 1970 by Redis' clock. */
  readonly nextRunAtMs: number;
}

export interface TaskView<Payload = unknown> {
  readonly id: string;
  /**
   * `waiting`: the task waits for its first or a later attempt. `running`: a worker has the task until `atMs`, when its lease ends. `dead`:
   * the task is a dead letter. It gets no further attempt unless you call `replay`. `done`: the task is done, and Redis still keeps its
   * result.
   */
  readonly state: 'waiting' | 'running' | 'dead' | 'done';
  /**
   * Name of the task. If the task is done, Redis has only its result: `name` is '', `payload` is undefined, and `attemptsMade` and
   * `attempts` are 0.
   */
  readonly name: string;
  /** Group of the task; undefined if it has no group, or is done. */
  readonly group: string | undefined;
  readonly payload: Payload | undefined;
  /**
   * Time that depends on `state`, ms since 1970 by Redis' clock. `waiting`: when the task is due. `running`: when the lease ends. `dead`:
   * when the task was dead-lettered. `done`: when the task was done. 0 for a task that Redis has partly lost, until the periodic cleanup
   * repairs it.
   */
  readonly atMs: number;
  /**
   * Number of attempts since the task was scheduled or last replayed, including the running one. Attempts that a worker gave back at a
   * shutdown, and attempts that ended with `retryLater({ countsAsAttempt: false })`, do not count.
   */
  readonly attemptsMade: number;
  /** Maximum number of attempts of the task. */
  readonly attempts: number;
  /**
   * Reason why the last failed attempt failed, or why the task became a dead letter; at most 1,000 characters. For a task that is done: the
   * reason why its result was not stored. '' if there is no reason.
   */
  readonly error: string;
  /**
   * Value that the last attempt has reported with `reportProgress` most recently. Undefined if it reported nothing, if the value has
   * expired, or if `list` returned this task.
   */
  readonly progress: unknown;
  /**
   * Result of the handler of a task that is done. Undefined in other states, if the handler returned nothing, or if the result could not be
   * stored (see `error`).
   */
  readonly result: unknown;
}

/**
 * A dead letter: a task that failed and gets no further attempt. The reason is one of these: its last attempt failed or lost its lease; its
 * handler used `deadLetter`, or threw InvalidInputError; or no worker had a handler for its name for a day. Fields that Redis has lost are
 * '', null or 0.
 */
export interface DeadLetter<Payload = unknown> extends DeadWork<Payload> {
  readonly name: string;
  /** Maximum number of attempts of the task. */
  readonly attempts: number;
  /**
   * When an attempt failed for the first time, ms since 1970 by Redis' clock. If no attempt failed: when the task became a dead letter
   * because its lease had ended, or when a worker first found that it has no handler for the task.
   */
  readonly firstFailedAtMs: number;
}

/**
 * Selects dead letters for `replayAll` and `dropAll`. A dead letter must meet all conditions. Without conditions, all dead letters are
 * selected.
 */
export interface DeadFilter extends DeadRange {
  /** Selects tasks of this name, 1 to 128 characters. Default: any name. */
  readonly name?: string;
}

/** Numbers of tasks in a queue, by their states. */
export interface QueueStats {
  /** Number of tasks that wait for an attempt, including overdue tasks. */
  readonly waiting: number;
  /** Number of waiting tasks that are due already. */
  readonly overdue: number;
  /** Number of tasks that a worker has, including those whose lease has ended, until another worker takes them. */
  readonly running: number;
  readonly dead: number;
  /** Time for which the first overdue task has been due, ms; 0 if no task is overdue. */
  readonly lateMs: number;
  /** True while the queue is paused, see `pause`. */
  readonly paused: boolean;
}
