import type { JobRecord } from 'luanest/scheduled-lock';

/** Result of one attempt to run a task, from `runTask`. */
export interface TaskOutcome {
  readonly id: string;
  /**
   * `done`: the handler succeeded. `retried`: another attempt follows. `dead`: the task is a dead letter. `lost`: the task was cancelled or
   * replaced during the attempt, or the worker has lost it, for example because the lease ended. `released`: the app is shutting down.
   * `unknown`: the app has no handler for the task.
   */
  readonly status: 'done' | 'retried' | 'dead' | 'lost' | 'released' | 'unknown';
  /** Result of the handler after JSON.stringify and JSON.parse; undefined if there is no result, or if the result was not kept. */
  readonly result: unknown;
  /** Error of a failed attempt, such as that of the handler; undefined if the handler used `retryLater` or `deadLetter`. */
  readonly error: unknown;
  /**
   * Text that Redis keeps with the task: the last error, the reason of `deadLetter`, or the reason why the result was not kept; otherwise
   * ''.
   */
  readonly reason: string;
  /** Pause before the next attempt, ms; undefined unless the status is `retried`. */
  readonly delayMs: number | undefined;
}

/** Result of one group for a message, from `deliver`. */
export interface MessageOutcome {
  readonly group: string;
  /**
   * `handled`: the handler succeeded. `retried`: another attempt follows. `dead`: the message is a dead letter of the group. `lost`:
   * the app lost the message, for example because its lease ended.
   */
  readonly status: 'handled' | 'retried' | 'dead' | 'lost';
  /** Error of a failed attempt, such as that of the handler; undefined if the handler used `retryLater` or `deadLetter`. */
  readonly error: unknown;
  /**
   * `dead`: text that Redis keeps with the dead letter, such as the reason of `deadLetter`. `lost`: why the message was lost. Otherwise ''.
   */
  readonly reason: string;
  /** Pause before the next attempt, ms; undefined unless the status is `retried`. */
  readonly delayMs: number | undefined;
}

/** Result of a run of a job, from `tick`. */
export interface TickOutcome {
  /**
   * Status as in the history of the job, such as `ran` or `skipped-held`. `failed`: the job or the call to Redis threw. `closed`: the app
   * is shutting down.
   */
  readonly status: JobRecord['status'] | 'closed';
  /** Result of the job; undefined if the job did not run, or threw. */
  readonly value: unknown;
  /** Error of the job or of the call to Redis; undefined if neither threw. */
  readonly error: unknown;
}
