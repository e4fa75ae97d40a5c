import { eventChannels } from '../../internal/src';

/**
 * Events of this lib. `DelayedTaskEvents['attemptSettled']` is the type of an event;
 * the constant `DelayedTaskEvents` has the names of their channels.
 */
export interface DelayedTaskEvents {
  /** An attempt to run a task has ended, and its result is stored in Redis; or the worker gave the task back at a shutdown. */
  readonly attemptSettled: {
    readonly namespace: string;
    readonly name: string;
    readonly id: string;
    readonly attempt: number;
    /**
     * `done`: the handler succeeded. `retried`: the attempt failed, and another attempt follows. `dead`: the task became a dead letter.
     * `lost`: Redis ignored the result, because the task was cancelled, or another worker had taken or dead-lettered it (see
     * `tasksBuried`). A success can also be `lost` if Redis stored it but the reply did not arrive: the repeated call then finds no lease.
     * `released`: the worker gave the task back at a shutdown. If that call failed, the lease of the task expires instead, and the attempt
     * counts. `unknown`: this process has no handler for the name of the task, so it gave the task back; the attempt does not count.
     */
    readonly status: 'done' | 'retried' | 'dead' | 'lost' | 'released' | 'unknown';
    /** Time from `runAtMs` of the TaskContext until a worker took the task, ms by Redis' clock; never negative. */
    readonly lateMs: number;
    /** Time from the start of the handler until this event, ms. */
    readonly durationMs: number;
    /**
     * Error of a failed attempt. SetupError if the task was dead-lettered because no worker had a handler for it for a day. Undefined if
     * the attempt did not fail, or if its handler used `retryLater` or `deadLetter`.
     */
    readonly error?: unknown;
  };

  /** Tasks became dead letters because their leases ended during the last attempt, for example because the worker died. */
  readonly tasksBuried: {
    readonly namespace: string;
    readonly count: number;
    /** The tasks that became dead letters, each with the number of its last attempt. */
    readonly tasks: readonly {
      readonly id: string;
      readonly name: string;
      readonly attempt: number;
      /** Group of the task; undefined if it has no group. */
      readonly group: string | undefined;
    }[];
  };

  /**
   * A call of the worker to Redis failed. The worker repeats the call until it succeeds, with two exceptions. `release` is not repeated,
   * because other workers take the tasks when their leases end. `broadcast` is not repeated; its events are dropped, and listeners of
   * `onEvents` get their number in a `missed` event.
   */
  readonly callFailed: {
    readonly namespace: string;
    /**
     * Purpose of the call. `take`: fetch due tasks. `settle`: store the results of attempts. `renew`: extend leases. `release`: give tasks
     * back at a shutdown. `subscribe`: subscribe to the channel that wakes workers, or to the events for `onEvents`. `sweep`: delete old
     * dead letters, and repair damaged tasks. `pause`: read if the queue is paused. `broadcast`: send events to other processes.
     */
    readonly during: 'take' | 'settle' | 'renew' | 'release' | 'subscribe' | 'sweep' | 'pause' | 'broadcast';
    readonly error: unknown;
  };

  /**
   * The periodic cleanup found and repaired incomplete tasks. A task can become incomplete if Redis evicts keys, or if someone deletes data
   * by hand.
   */
  readonly queueRepaired: {
    readonly namespace: string;
    /**
     * Number of repairs. A repaired task had its data in Redis, but was in none of the sorted sets of waiting, running and dead-lettered
     * tasks. A repaired group had lost its next task, so none of its tasks could start.
     */
    readonly restored: number;
    /** Number of tasks of which Redis had only the data of their attempts. This data was deleted. */
    readonly dropped: number;
  };
}

interface AboutTask {
  /** Name of the queue. */
  readonly namespace: string;
  readonly id: string;
  readonly name: string;
  /** Group of the task; undefined if it has no group. */
  readonly group: string | undefined;
  readonly attempt: number;
  /** Maximum number of attempts of the task. */
  readonly attempts: number;
  /** Time of the event, ms since 1970 by the clock of the process that ran the task. */
  readonly atMs: number;
}

/** The events that listeners of `onEvents` get, by the value of their field `type`. */
export interface TaskEvents {
  /**
   * An attempt has ended, as in `attemptSettled` of DelayedTaskEvents. Also sent, with the status `dead`, if a task became a dead letter
   * because its lease ended.
   */
  readonly attemptSettled: AboutTask & {
    readonly type: 'attemptSettled';
    readonly status: DelayedTaskEvents['attemptSettled']['status'];
    /**
     * Reason why the attempt failed or the task became a dead letter, at most 1,000 characters; '' if there is no reason. `get` returns the
     * same text.
     */
    readonly error: string;
  };

  /** The handler called `reportProgress`. */
  readonly progressReported: AboutTask & {
    readonly type: 'progressReported';
    readonly progress: unknown;
  };

  /** The listener may have missed events. Read the tasks that matter to you with `get`. */
  readonly missed: {
    readonly type: 'missed';
    readonly namespace: string;
    /** Number of missed events. Undefined if the number is unknown, because the connection of the listener was lost. */
    readonly count: number | undefined;
  };
}

/** Any event that listeners of `onEvents` get. */
export type TaskEvent = TaskEvents[keyof TaskEvents];

/**
 * Names of the `node:diagnostics_channel` channels of this lib: `DelayedTaskEvents.attemptSettled`, for example. No event contains a
 * payload or a result.
 */
export const DelayedTaskEvents = Object.freeze({
  attemptSettled: 'luanest:delayed-task:attempt.settled',
  tasksBuried: 'luanest:delayed-task:tasks.buried',
  callFailed: 'luanest:delayed-task:call.failed',
  queueRepaired: 'luanest:delayed-task:queue.repaired',
});

export const events = eventChannels<DelayedTaskEvents>(DelayedTaskEvents);
