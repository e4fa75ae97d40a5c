import type { JobRecord } from 'luanest/scheduled-lock';

/** How one attempt of a task ended, as `runTask` returns it. */
export interface TaskOutcome {
  readonly id: string;
  /**
   * `done`: the handler succeeded. `retried`: another attempt follows. `dead`: the task is a dead letter. `lost`: the task was
   * cancelled or replaced meanwhile, or the worker lost it, for example because its lease ended. `released`: the app shuts down.
   * `unknown`: the app has no handler for the task.
   */
  readonly status: 'done' | 'retried' | 'dead' | 'lost' | 'released' | 'unknown';
  /** Result of the handler, as JSON holds it; undefined if it returned nothing, did not succeed, or the result was not kept. */
  readonly result: unknown;
  /** Error of a failed attempt, such as that of the handler; undefined if the handler used `retryLater` or `deadLetter`. */
  readonly error: unknown;
  /** Text that is kept with the task: of its last error, the reason of `deadLetter`, or why a result was not kept; otherwise ''. */
  readonly reason: string;
  /** Pause before the next attempt, ms; undefined unless the status is `retried`. */
  readonly delayMs: number | undefined;
}

/** How one group handled a message, as `deliver` returns it. */
export interface MessageOutcome {
  readonly group: string;
  /**
   * `handled`: the handler succeeded. `retried`: another attempt follows. `dead`: the message is a dead letter of the group. `lost`:
   * the app lost the message, for example because its lease ended.
   */
  readonly status: 'handled' | 'retried' | 'dead' | 'lost';
  /** Error of a failed attempt, such as that of the handler; undefined if the handler used `retryLater` or `deadLetter`. */
  readonly error: unknown;
  /** Text that is kept with the dead letter, such as the reason of `deadLetter`; why a message was lost; '' for another status. */
  readonly reason: string;
  /** Pause before the next attempt, ms; undefined unless the status is `retried`. */
  readonly delayMs: number | undefined;
}

/** How a run of a job ended, as `tick` returns it. */
export interface TickOutcome {
  /**
   * Status as in the history of the job, such as `ran` or `skipped-held`; `failed` if the job or the run threw; `closed` while the
   * app shuts down.
   */
  readonly status: JobRecord['status'] | 'closed';
  /** Result of the job; undefined if it did not run or threw. */
  readonly value: unknown;
  /** Error of the job or of the run, such as one of Redis; undefined if neither threw. */
  readonly error: unknown;
}
