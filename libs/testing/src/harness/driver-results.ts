import type { JobRecord } from 'luanest/scheduled-lock';

/** How one attempt of a task ended, as `runTask` returns it. */
export interface TaskOutcome {
  readonly id: string;
  /**
   * `done`: the handler succeeded. `retried`: another attempt follows. `dead`: the task is a dead letter. `lost`: the task was
   * cancelled or replaced meanwhile. `released`: the app shuts down.
   */
  readonly outcome: 'done' | 'retried' | 'dead' | 'lost' | 'released' | 'unknown';
  /** Result of the handler, as JSON holds it; undefined if it returned nothing, or did not succeed. */
  readonly result: unknown;
  /** Error of the handler; undefined if it succeeded, or used `retryLater` or `deadLetter`. */
  readonly error: unknown;
  /** Text that is kept with the task: of the error, or the reason of `deadLetter`; '' if there is none. */
  readonly reason: string;
  /** Pause before the next attempt, ms; undefined unless the outcome is `retried`. */
  readonly delayMs: number | undefined;
}

/** How one group handled a message, as `deliver` returns it. */
export interface MessageOutcome {
  readonly group: string;
  /** `handled`: the handler succeeded. `retried`: another attempt follows. `dead`: the message is a dead letter of the group. */
  readonly outcome: 'handled' | 'retried' | 'dead';
  /** Error of the handler; undefined if it succeeded, or used `retryLater` or `deadLetter`. */
  readonly error: unknown;
  /** Text that is kept with the dead letter, such as the reason of `deadLetter`; '' for other outcomes. */
  readonly reason: string;
  /** Pause before the next attempt, ms; undefined unless the outcome is `retried`. */
  readonly delayMs: number | undefined;
}

/** How a run of a job ended, as `tick` returns it. */
export interface TickOutcome {
  /** Outcome as in the history of the job, such as `ran`, `failed` or `skipped-held`; `closed` while the app shuts down. */
  readonly outcome: JobRecord['outcome'] | 'closed';
  /** Result of the job; undefined if it did not run or threw. */
  readonly value: unknown;
  /** Error of the job; undefined if it did not throw. */
  readonly error: unknown;
}
