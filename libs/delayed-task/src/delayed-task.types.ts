/** How long to wait before an attempt follows a failed one: `delayMs * factor ^ (failures - 1)`, at most `maxDelayMs`. */
export interface Backoff {
  /** Before the second attempt, ms; integer >= 0. */
  readonly delayMs: number;
  /** At least 1. Default 2. */
  readonly factor?: number;
  /** Integer >= `delayMs`. Default 1 hour, or `delayMs` where that is more. */
  readonly maxDelayMs?: number;
  /** Share of each delay that is left to chance, 0 to 1: 0.5 waits between a half and the whole of it. Default 0.5. */
  readonly jitter?: number;
}

/** When a task is due; neither: now. By Redis' clock. */
export interface DueTime {
  /** From now, ms; integer, at most 100 years; one below 0 is now. */
  readonly delayMs?: number;
  /** An instant, as a Date or in ms since 1970, at most 100 years ahead; one that is past is due now. */
  readonly runAt?: Date | number;
}

/** How a task runs. */
export interface TaskOptions extends DueTime {
  /** Text of 1 to 256 characters without line breaks. Default: a new one. */
  readonly id?: string;
  /** Attempts before it is a dead letter; integer of 1 to 1,000. Default: the module's. */
  readonly attempts?: number;
  /** Pauses between attempts; a number is `{ delayMs }`. Default: the module's. */
  readonly backoff?: number | Backoff;
  /** How long what the handler returns is kept, ms; 0 to keep nothing. Default: the module's. */
  readonly keepResultMs?: number;
}

/** What happens when a task of the same id is there, whether it waits, runs or is dead. */
export interface ConflictOptions {
  /**
   * `keep`: the task that is there stays, and counts as this one. `refuse`: it stays, and the answer says so. `replace`:
   * this task takes its place; if it runs, its attempt settles nothing any more. Default `keep`.
   */
  readonly onConflict?: 'keep' | 'replace' | 'refuse';
}

/** What `schedule` takes. */
export interface ScheduleOptions extends TaskOptions, ConflictOptions {}

/** One of many tasks to schedule. */
export interface NewTask extends TaskOptions {
  readonly name: string;
  /** JSON data; undefined is kept as null. */
  readonly payload?: unknown;
}

/** What became of a task that was to be scheduled. */
export interface ScheduleAnswer {
  readonly id: string;
  readonly status: 'scheduled' | 'replaced' | 'kept' | 'refused';
  /** When it is due, ms since 1970 by Redis' clock; 0 for a task that was there and is not waiting. */
  readonly runAt: number;
}

/** What `cancel` answers: `running` and `dead` tasks stay as they are. */
export type CancelAnswer = 'cancelled' | 'running' | 'dead' | 'unknown';

/** What `reschedule` answers. */
export type RescheduleAnswer =
  { readonly status: 'rescheduled'; readonly runAt: number } | { readonly status: 'running' | 'dead' | 'unknown' };

/** What a handler is told of its task, beside the payload. */
export interface TaskContext {
  readonly id: string;
  readonly name: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** The last one that there is. */
  readonly attempts: number;
  /** When this attempt was due, ms since 1970 by Redis' clock. */
  readonly runAt: number;
  /** How long after that it was taken, ms by Redis' clock; never negative. */
  readonly lateMs: number;
  /**
   * Fires when the attempt's time is over, when another may have the task, or when the app shuts down and has waited.
   * Stop what has not happened yet.
   */
  readonly signal: AbortSignal;
}

/**
 * Does a task. It is done when this returns, or its promise or Observable ends, whatever the value; every error is a
 * failed attempt. The value is kept for `keepResultMs`, as far as JSON can hold it. A `RetryTaskError` or
 * `DeadLetterTaskError` may be returned instead of thrown.
 */
// A handler names the type of its payload itself.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type TaskHandler = (payload: any, task: TaskContext) => unknown;

/** How the tasks of a name run in this process. */
export interface HandlerOptions {
  /**
   * How long one attempt may take, ms; integer of 1 to 2^31 - 1. Then the signal fires, and the attempt has failed when the
   * handler ends, or after `abortGraceMs`. Default: the module's.
   */
  readonly timeoutMs?: number;
}

/** What is known of a task. */
export interface TaskView {
  readonly id: string;
  /** `done` only while its result is kept. */
  readonly state: 'waiting' | 'running' | 'dead' | 'done';
  /** Empty for `done`, as are `payload`, `attempt` and `attempts`. */
  readonly name: string;
  readonly payload: unknown;
  /** When it is due, its lease ends, it died, or it was done; ms since 1970 by Redis' clock. */
  readonly at: number;
  /** Attempts begun; one that was handed back does not count. */
  readonly attempt: number;
  readonly attempts: number;
  /** What the last attempt failed with, or why the result of a task that is `done` was not kept; '' for none. */
  readonly error: string;
  /** What the handler returned; undefined unless it is `done`, and where it could not be kept. */
  readonly result: unknown;
}

/** A task that failed for good. */
export interface DeadTask {
  readonly id: string;
  readonly name: string;
  readonly payload: unknown;
  readonly attempts: number;
  /** The last error's message. */
  readonly error: string;
  /** ms since 1970 by Redis' clock. */
  readonly firstFailedAt: number;
  /** ms since 1970 by Redis' clock. */
  readonly deadAt: number;
}

/** A page of dead tasks. */
export interface DeadPage {
  readonly items: readonly DeadTask[];
  /** Pass it to read the next page; undefined after the last. */
  readonly nextCursor?: string;
}

/** Which dead tasks `replayAll` and `dropAll` handle. All conditions must hold. Default: all dead tasks. */
export interface DeadFilter {
  /** Name of the tasks, 1 to 128 characters. Default: any. */
  readonly name?: string;
  /** Those that died at this instant or later: a Date, or an integer, ms since 1970. By Redis' clock. Default: any. */
  readonly diedFromAtMs?: Date | number;
  /** Those that died before this instant: a Date, or an integer, ms since 1970. By Redis' clock. Default: any. */
  readonly diedBeforeAtMs?: Date | number;
}

/** How many tasks the queue holds. */
export interface QueueStats {
  /** Not yet taken, the overdue ones included. */
  readonly waiting: number;
  /** Due and not yet taken. */
  readonly overdue: number;
  readonly running: number;
  readonly dead: number;
  /** How long the first of the overdue ones has been due, ms: what grows when workers stand still. */
  readonly lateMs: number;
}
