/** Key of the type of the payload. No object has it at run time. */
declare const PAYLOAD: unique symbol;

/** Pause after failed attempt number `n`: `delayMs * factor ^ (n - 1)`, at most `maxDelayMs`. */
export interface Backoff {
  /** Pause before the second attempt, ms; integer of 0 to 100 years. */
  readonly delayMs: number;
  /** Factor by which each pause is longer than the one before; 1 to 1,000. Default 2. */
  readonly factor?: number;
  /** Longest pause, ms; integer of `delayMs` to 100 years. Default 1 hour, or `delayMs` if that is more. */
  readonly maxDelayMs?: number;
  /** Share of each pause that is random, 0 to 1: 0.5 waits between half of the pause and all of it. Default 0.5. */
  readonly jitter?: number;
}

/** Due time of a task, by Redis' clock. Give one of the two or none; without both, the task is due now. */
export interface DueTime {
  /** Time from now, ms; integer, at most 100 years; below 0 means now. */
  readonly delayMs?: number;
  /** Instant in ms since 1970; integer, at most 100 years ahead; in the past means now. */
  readonly runAtMs?: number;
}

/** Settings of tasks that a single task, `defineTask` or the module can set, in this order. */
export interface TaskSettings {
  /** Most attempts; after the last one that fails, the task is dead-lettered; integer of 1 to 1,000. Default: the module's. */
  readonly attempts?: number;
  /** Pauses between attempts; a number is `{ delayMs }`. Default: the module's. */
  readonly backoff?: number | Backoff;
  /** How long the handler's result is kept, ms; integer of 0 to 100 years; 0: not kept. Default: the module's. */
  readonly keepResultMs?: number;
}

/** Options of one task. */
export interface TaskOptions extends DueTime, TaskSettings {
  /** Text of 1 to 256 characters without line breaks. Default: a new unique id. */
  readonly id?: string;
}

/** Choice for the case that a task with the id exists, whether it waits, runs or is a dead letter. */
export interface ConflictOptions {
  /**
   * `keep`: the existing task stays, and the status is `kept`. `refuse`: the existing task stays, and the status is
   * `refused`. `replace`: the new task replaces it; if the old one runs, the outcome of its attempt changes nothing.
   * Default `keep`.
   */
  readonly onConflict?: 'keep' | 'replace' | 'refuse';
}

/** Options of `schedule`. */
export interface ScheduleOptions extends TaskOptions, ConflictOptions {}

/** A task for `scheduleMany`, by its name. */
export interface NamedTask extends TaskOptions {
  /** Selects the handler; 1 to 128 characters. */
  readonly name: string;
  /** JSON data; undefined is stored as null. */
  readonly payload?: unknown;
}

/** A task for `scheduleMany`, by its definition. */
export interface DefinedTask<Payload> extends TaskOptions {
  readonly task: TaskDefinition<Payload>;
  readonly payload: NoInfer<Payload>;
}

/** A task for `scheduleMany`. */
export type NewTask<Payload = unknown> = NamedTask | DefinedTask<Payload>;

/** Result of `schedule`, and of each task of `scheduleMany`. */
export interface ScheduleResult {
  readonly id: string;
  /** `replaced`, `kept` and `refused`: a task with the id existed. See `onConflict`. */
  readonly status: 'scheduled' | 'replaced' | 'kept' | 'refused';
  /** When the task is due, ms since 1970 by Redis' clock; 0 for an existing task that is not waiting. */
  readonly runAtMs: number;
}

/** Result of `cancel`. `running` and `dead`: the task is running or a dead letter, and stays. `unknown`: no task has the id. */
export type CancelResult = 'cancelled' | 'running' | 'dead' | 'unknown';

/** Result of `reschedule`. `running` and `dead`: the task is running or a dead letter, and stays. `unknown`: no task has the id. */
export type RescheduleResult =
  { readonly status: 'rescheduled'; readonly runAtMs: number } | { readonly status: 'running' | 'dead' | 'unknown' };

/** Data of an attempt that a handler gets in addition to the payload. */
export interface TaskContext {
  readonly id: string;
  readonly name: string;
  /** Number of this attempt; 1 for the first. */
  readonly attempt: number;
  /** Most attempts of the task. */
  readonly attempts: number;
  /** When this attempt was due, ms since 1970 by Redis' clock. */
  readonly runAtMs: number;
  /** Time from when the attempt was due until it was taken, ms by Redis' clock; never negative. */
  readonly lateMs: number;
  /**
   * Fires after `timeoutMs`, when another worker may have the task, when the task was cancelled or replaced, or when the app
   * shuts down and `drainMs` is over. Stop the work then.
   */
  readonly signal: AbortSignal;
}

/**
 * Handles a task. The task is done when the function returns, or when its promise or Observable ends, whatever the value.
 * An error is a failed attempt. The value is kept for `keepResultMs` if JSON can hold it. Two outcomes may be returned or thrown:
 * `retryLater({ delayMs })` for another attempt, `deadLetter(reason)` to give up the task.
 */
// A handler declares the type of its payload, unless `defineTask` did.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type TaskHandler<Payload = any> = (payload: Payload, task: TaskContext) => unknown;

/** Options of a handler. */
export interface HandlerOptions {
  /**
   * How long one attempt may take, ms; integer of 1 to 2^31 - 1. Then the signal fires, and the handler has `abortGraceMs` to
   * end. If it throws, or has not ended by then, the attempt has failed. Default: the module's.
   */
  readonly timeoutMs?: number;
}

/** Options of `defineTask`. */
export interface TaskDefinitionOptions extends TaskSettings, HandlerOptions {
  /** Name of the tasks, which selects the handler; 1 to 128 characters. */
  readonly name: string;
}

/** Name, settings and type of the payload of tasks; made by `defineTask`. */
export interface TaskDefinition<Payload = unknown> extends TaskDefinitionOptions {
  /** Only for types: no object has it. */
  readonly [PAYLOAD]?: Payload;
}

/** A task, as `get` returns it. */
export interface TaskView<Payload = unknown> {
  readonly id: string;
  /** `dead`: dead-lettered. `done`: only while the result is kept. */
  readonly state: 'waiting' | 'running' | 'dead' | 'done';
  /** '' if the task is done. Then `payload` is undefined, and both numbers of attempts are 0. */
  readonly name: string;
  readonly payload: Payload | undefined;
  /** When a waiting task is due, the lease of a running one ends, or a dead or done one ended; ms since 1970 by Redis' clock. */
  readonly atMs: number;
  /** Attempts made so far, the running one included. Attempts that were handed back or postponed do not count. */
  readonly attemptsMade: number;
  /** Most attempts of the task. */
  readonly attempts: number;
  /** Name and message of the error of the last failed attempt, or why the result of a done task was not kept; '' if neither. */
  readonly error: string;
  /** The result of a done task; undefined in other states, and if JSON could not hold the result. */
  readonly result: unknown;
}

/** A dead letter: a task that failed in its last attempt, or that its handler gave up. */
export interface DeadTask {
  readonly id: string;
  readonly name: string;
  readonly payload: unknown;
  /** Attempts made. Attempts that were handed back or postponed do not count. */
  readonly attemptsMade: number;
  /** Most attempts of the task. */
  readonly attempts: number;
  /** Name and message of the last error, or the reason of `deadLetter`. */
  readonly error: string;
  /** When an attempt first failed, ms since 1970 by Redis' clock. */
  readonly firstFailedAtMs: number;
  /** When the task was dead-lettered, ms since 1970 by Redis' clock. */
  readonly deadAtMs: number;
}

/** A page of dead letters. */
export interface DeadPage {
  readonly items: readonly DeadTask[];
  /** `cursor` of the next page; undefined after the last page. */
  readonly nextCursor?: string;
}

/** Selects the dead letters of `replayAll` and `dropAll`. All conditions must be true. Default: all dead letters. */
export interface DeadFilter {
  /** Name of the tasks, 1 to 128 characters. Default: any. */
  readonly name?: string;
  /** Selects tasks that were dead-lettered at this instant or later, an integer of ms since 1970, by Redis' clock. Default: any. */
  readonly diedFromAtMs?: number;
  /** Selects tasks that were dead-lettered before this instant, an integer of ms since 1970, by Redis' clock. Default: any. */
  readonly diedBeforeAtMs?: number;
}

/** Numbers of tasks in the queue. */
export interface QueueStats {
  /** Tasks that are not running or dead-lettered, the overdue ones included. */
  readonly waiting: number;
  /** Tasks that are due and not yet taken. */
  readonly overdue: number;
  readonly running: number;
  /** Dead letters. */
  readonly dead: number;
  /** Time since the first overdue task was due, ms; 0 if none is overdue. Grows while no worker takes tasks. */
  readonly lateMs: number;
}
