import type { AttemptOptions, DeadRange, DeadWork } from '../../worker/src';

declare const PAYLOAD: unique symbol;

/** Due time of a task, by Redis' clock. Give `delayMs` or `runAtMs`, not both; without them, the task is due now. */
export interface DueTime {
  /** Time from now, ms; integer from -100 years to 100 years. A negative delay means now. */
  readonly delayMs?: number;
  /** Instant, ms since 1970; integer from 0, at most 100 years ahead. An instant in the past means now. */
  readonly runAtMs?: number;
}

/** Settings of a task. The value that the task itself has is used first, then that of `defineTask`, then that of the module. */
export interface TaskSettings extends AttemptOptions {
  /** How long the result of the handler is kept, ms; integer from 0 to 100 years; 0: not kept. Default 0. */
  readonly keepResultMs?: number;
}

export interface TaskOptions extends DueTime, TaskSettings {
  /** Queue of the task: one of `queues` of the module, or its `namespace`. Default: the queue of the definition, or `namespace`. */
  readonly queue?: string;
  /** Text of 1 to 256 characters without control characters. Default: a new unique id. */
  readonly id?: string;
  /**
   * Group of the task, such as a tenant or a user; text of 1 to 128 characters without control characters. Groups take turns, so that
   * many tasks of one group do not delay those of another. Default: none; the task waits for no turn.
   */
  readonly group?: string;
}

/** Rule for an id that exists, whether its task waits, runs or is a dead letter. */
export interface ConflictOptions {
  /**
   * `keep`: the existing task stays, and the status is `kept`. `replace`: the new task replaces the existing one; if that one
   * runs, the outcome of its attempt changes nothing. `after`: as `replace`, but a task that runs ends its attempt first. The new task
   * follows however that attempt ends, instead of a further attempt, and the status is `follows`. Of several, the last one follows.
   * Default `keep`.
   */
  readonly onConflict?: 'keep' | 'replace' | 'after';
}

/** Options of `schedule`. */
export interface ScheduleOptions extends TaskOptions, ConflictOptions {
  /**
   * Text of 1 to 256 characters without control characters. Within the module's `operationRetentionMs`, another call with the same
   * operationId and `id` schedules nothing, and returns the result of the first, also if the task is done. Default: none. With it, the
   * default of `id` is the same text.
   */
  readonly operationId?: string;
  /** How long Redis remembers the `operationId` of this call, ms; integer from 1,000 to 100 years. Default: that of the module. */
  readonly operationRetentionMs?: number;
}

export interface NamedTask extends TaskOptions {
  /** Selects the handler; 1 to 128 characters. */
  readonly name: string;
  /** JSON data; undefined is stored as null. */
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
  /** `replaced`, `follows` and `kept`: a task with the id existed, and `onConflict` decided. */
  readonly status: 'scheduled' | 'replaced' | 'follows' | 'kept';
  /** When the task is due, ms since 1970 by Redis' clock; 0 if an existing task was kept that is not waiting. */
  readonly runAtMs: number;
}

/** Gets the tasks of a call of `schedule` or `scheduleMany`, the options of the whole call, and its results, which may reject. */
export type ScheduleWatcher = (
  tasks: readonly NewTask[],
  options: ConflictOptions,
  results: Promise<readonly ScheduleResult[]>,
) => void;

/** Parts of DelayedTaskService that `luanest/testing` needs. */
export interface TaskInspection {
  /** True while this process takes tasks. */
  readonly working: boolean;
  /** Returns true if this process has a handler for the tasks of a name. */
  handles(name: string): boolean;
  /** Calls `watcher` at each later call that schedules tasks. */
  watch(watcher: ScheduleWatcher): void;
}

/** A task that `schedule` would take, in a form that JSON can hold. */
export interface PreparedTask {
  readonly name: string;
  /** Payload as JSON. */
  readonly payload: string;
  /** Options of the call; options of the definition that the call does not set; and the queue. */
  readonly options: ScheduleOptions & { readonly queue: string };
}

/** Parts of DelayedTaskService that `luanest/outbox` needs. */
export interface TaskOutbox {
  /** Checks what `schedule` checks. @throws InvalidInputError */
  prepare(task: string | TaskDefinition, payload: unknown, options: ScheduleOptions): PreparedTask;
  /** Returns true if the module has this queue. */
  has(queue: string): boolean;
}

/**
 * Result of `cancel`. `running` and `dead`: the task is running or a dead letter, and stays. `unknown`: no task has the id, or the
 * task is done.
 */
export type CancelResult = 'cancelled' | 'running' | 'dead' | 'unknown';

/**
 * Result of `reschedule`. `running` and `dead`: a worker leased the task, or it is a dead letter, and it stays; `running` also if the
 * lease has ended and no worker has taken the task since. `unknown`: no task has the id, or the task is done.
 */
export type RescheduleResult =
  { readonly status: 'rescheduled'; readonly runAtMs: number } | { readonly status: 'running' | 'dead' | 'unknown' };

/** Data of an attempt. The handler gets it as its second argument, after the payload. */
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
   * When this attempt was due, ms since 1970 by Redis' clock. If it follows an attempt whose lease ended: when that attempt was due.
   */
  readonly runAtMs: number;
  /** Time from `runAtMs` until the attempt was taken, ms by Redis' clock; never negative. */
  readonly lateMs: number;
  /**
   * Fires after `timeoutMs`, when the lease has ended, when a renewal finds that the task was cancelled, replaced, taken over or
   * lost, or when the app shuts down and `drainMs` is over. The handler should then stop its work.
   */
  readonly signal: AbortSignal;
  /**
   * Stores how far the attempt is, for `get` and `waitFor`. It is kept for `timeoutMs` and `keepResultMs` from this call on, and
   * hidden when the next attempt begins. Await it, so that an older value cannot replace a newer one.
   *
   * @param value JSON data of at most 4,096 bytes
   * @throws InvalidInputError before anything is sent; LostError if the lease is lost; the errors of ScriptRegistry.run()
   */
  reportProgress(value: unknown): Promise<void>;
}

/**
 * Handles a task. The task is done when the function returns, or when its promise or Observable ends. If JSON can hold the value
 * in `maxPayloadBytes`, it is kept for `keepResultMs`. An error is a failed attempt. Return or throw `retryLater({ delayMs })`
 * for another attempt, or `deadLetter(reason)` to give up the task.
 */
// With unknown instead of any, a handler could not declare the type of its payload.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type TaskHandler<Payload = any> = (payload: Payload, task: TaskContext) => unknown;

export interface TaskDefinitionOptions extends TaskSettings {
  /** Name of the tasks, which selects the handler; 1 to 128 characters. */
  readonly name: string;
  /** Queue of the tasks: one of `queues` of the module, or its `namespace`. Default: `namespace`. */
  readonly queue?: string;
  /** How long one attempt may take, ms; integer from 1 to 2^31 - 1. Default: the module's. */
  readonly timeoutMs?: number;
}

/** Name and settings of tasks, and the type of their payload. Made by `defineTask`. */
export interface TaskDefinition<Payload = unknown> extends TaskDefinitionOptions {
  /** For the compiler only; no definition has this property. */
  readonly [PAYLOAD]?: Payload;
}

/**
 * When a schedule runs its task. `cron`: an expression of 5 or 6 fields, as of @nestjs/schedule, in the civil time of `timeZone`, such
 * as `Asia/Shanghai`; default `UTC`. `everyMs`: at the multiples of a time since 1970, ms; integer from 1,000 to 100 years.
 */
export type ScheduleRule = { readonly cron: string; readonly timeZone?: string } | { readonly everyMs: number };

/** Task of a schedule. Its ids and its times come from the schedule. */
export type ScheduledTask<Payload = unknown> =
  Omit<NamedTask, keyof DueTime | 'id'> | Omit<DefinedTask<Payload>, keyof DueTime | 'id'>;

/** A schedule, as `getSchedule` returns it. */
export interface ScheduleView {
  readonly id: string;
  readonly rule: ScheduleRule;
  readonly name: string;
  readonly group: string | undefined;
  readonly payload: unknown;
  /** When its next task is due, ms since 1970 by Redis' clock. */
  readonly nextRunAtMs: number;
}

/** A task, as `get` returns it. */
export interface TaskView<Payload = unknown> {
  readonly id: string;
  /**
   * `waiting`: for an attempt. `running`: a worker leased the task; the lease may have ended (`atMs`). `dead`: no further attempt
   * follows, see `replay`. `done`: the task was done within the last `keepResultMs`.
   */
  readonly state: 'waiting' | 'running' | 'dead' | 'done';
  /** Name of the task. If the task is done: '', `payload` is undefined, and both numbers of attempts are 0. */
  readonly name: string;
  /** Group of the task; undefined if it has no group, or is done. */
  readonly group: string | undefined;
  readonly payload: Payload | undefined;
  /**
   * When a waiting task is due, when the lease of a running task ends, when a task was dead-lettered, or when it was done; ms since
   * 1970 by Redis' clock. 0 for a damaged task until a sweep repairs it.
   */
  readonly atMs: number;
  /**
   * Attempts since the task was scheduled or last replayed, including the running one. Not counted: attempts that were handed
   * back, and `countsAsAttempt: false`.
   */
  readonly attemptsMade: number;
  /** Maximum number of attempts of the task. */
  readonly attempts: number;
  /**
   * Reason why the last failed attempt failed, or why the task was dead-lettered. If the task is done: why its result was not kept. At most
   * 1,000 characters. Otherwise ''.
   */
  readonly error: string;
  /**
   * Value that the last attempt reported last with `reportProgress`; undefined if it reported nothing, the value has expired, or the task
   * comes from `list`.
   */
  readonly progress: unknown;
  /** Result of a done task; undefined in other states, without a result, and if it could not be kept (see `error`). */
  readonly result: unknown;
}

/**
 * A dead letter: a task whose last attempt failed or lost its lease, that its handler gave up or ended with InvalidInputError, or
 * that workers without a handler handed back for a day. Fields that Redis has lost are '', null or 0.
 */
export interface DeadLetter<Payload = unknown> extends DeadWork<Payload> {
  readonly name: string;
  /** Maximum number of attempts of the task. */
  readonly attempts: number;
  /**
   * When an attempt first failed; ms since 1970 by Redis' clock. If none did: when the task was dead-lettered because its lease had
   * ended, or when a worker without a handler first handed it back.
   */
  readonly firstFailedAtMs: number;
}

/**
 * Selects the dead letters that `replayAll` and `dropAll` handle. All conditions must hold. Without a condition, all are
 * selected.
 */
export interface DeadFilter extends DeadRange {
  /** Selects tasks of this name, 1 to 128 characters. Default: any name. */
  readonly name?: string;
}

/** Numbers of tasks in the queue. */
export interface QueueStats {
  /** Tasks that wait for an attempt, including overdue tasks. */
  readonly waiting: number;
  /** Waiting tasks that are due, and that no worker has taken yet. */
  readonly overdue: number;
  /** Tasks that a worker leased, including those whose lease has ended and that no worker has taken since. */
  readonly running: number;
  readonly dead: number;
  /** Time since the first overdue task was due, ms; 0 if no task is overdue. */
  readonly lateMs: number;
  /** True while the queue is paused, see `pause`. */
  readonly paused: boolean;
}
