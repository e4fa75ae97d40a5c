import { eventChannels } from '../../internal/src';

/**
 * Types of the events of this lib. The keys are those of DELAYED_TASK_CHANNELS, so `DelayedTaskEvents['attemptSettled']` is the type of
 * the events on the channel `attemptSettled`.
 */
export interface DelayedTaskEvents {
  /** An attempt ended, and Redis has replied to the call that stored its outcome; or the worker handed the task back at shutdown. */
  readonly attemptSettled: {
    readonly namespace: string;
    readonly name: string;
    readonly id: string;
    readonly attempt: number;
    /**
     * `done`: the handler succeeded. `retried`: the attempt failed, and another attempt follows. `dead`: the task became a dead letter.
     * `lost`: this worker no longer had the lease of the task, so Redis ignored the outcome. For example, the task was cancelled, or
     * another worker took or dead-lettered it (see `tasksBuried`). A success can also be `lost` if Redis stored it but the reply did not
     * arrive: the repeated call then finds no lease. `released`: the worker handed the task back at shutdown. If the call that hands it
     * back failed, the lease expires, and the attempt counts. `unknown`: this process has no handler for the name of the task, so it
     * handed the task back. The attempt does not count.
     */
    readonly status: 'done' | 'retried' | 'dead' | 'lost' | 'released' | 'unknown';
    /** `lateMs` of the TaskContext, ms by Redis' clock; never negative. */
    readonly lateMs: number;
    /** Time from the start of the handler until this event, ms. */
    readonly durationMs: number;
    /**
     * Error of a failed attempt. SetupError if the task was dead-lettered because workers without a handler handed it back for a day.
     * undefined if the attempt did not fail, or if its handler used `retryLater` or `deadLetter`.
     */
    readonly error?: unknown;
  };

  /** Tasks became dead letters, because their leases ended during their last attempt, for example because the worker died. */
  readonly tasksBuried: {
    readonly namespace: string;
    readonly count: number;
    /** The tasks, each with the number of its last attempt. */
    readonly tasks: readonly {
      readonly id: string;
      readonly name: string;
      readonly attempt: number;
      /** Group of the task; undefined if it has no group. */
      readonly group: string | undefined;
    }[];
  };

  /**
   * A call of the worker to Redis failed. The worker repeats it until the worker stops. Exceptions: `release` is not repeated; if the
   * call did not run, other workers take the tasks when their leases end. `broadcast` is not repeated; the events are dropped, and
   * listeners get their number in a `missed` event.
   */
  readonly callFailed: {
    readonly namespace: string;
    /**
     * Purpose of the call. `take`: lease due tasks. `settle`: store outcomes of attempts. `renew`: extend leases. `release`: hand tasks
     * back at shutdown. `subscribe`: subscribe to the channel that wakes workers, or to the events for `onEvents`. `sweep`: delete old
     * dead letters, and repair damaged tasks. `pause`: read if the queue is paused. `broadcast`: send events to other processes.
     */
    readonly during: 'take' | 'settle' | 'renew' | 'release' | 'subscribe' | 'sweep' | 'pause' | 'broadcast';
    readonly error: unknown;
  };

  /** The periodic cleanup repaired incomplete tasks. Tasks can become incomplete if Redis evicts keys, or if somebody deletes entries. */
  readonly queueRepaired: {
    readonly namespace: string;
    /** Number of tasks whose entry in the key `due`, `leased` or `dead` was missing. The cleanup has restored these entries. */
    readonly restored: number;
    /**
     * Number of entries in the key `runs` (data of attempts) whose task was missing. The cleanup has deleted these entries and their
     * leases.
     */
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

/**
 * Types of the events of `onEvents`. The keys are the values of the field `type`, so `TaskEvents['missed']` is the type of the events
 * with the type `missed`.
 */
export interface TaskEvents {
  /**
   * An attempt ended, see `attemptSettled` of DelayedTaskEvents. Also sent, with the status `dead`, for each task that was dead-lettered
   * because its lease ended.
   */
  readonly attemptSettled: AboutTask & {
    readonly type: 'attemptSettled';
    readonly status: DelayedTaskEvents['attemptSettled']['status'];
    /**
     * Reason why the attempt failed or the task was dead-lettered, at most 1,000 characters; `get` returns the same text. '' if there is
     * no reason.
     */
    readonly error: string;
  };

  /** The handler called `reportProgress`. */
  readonly progressReported: AboutTask & {
    readonly type: 'progressReported';
    readonly progress: unknown;
  };

  /** The listener may have missed events. If you need the states of tasks, read them with `get`. */
  readonly missed: {
    readonly type: 'missed';
    readonly namespace: string;
    /**
     * Number of events that a process has dropped. undefined if the listener's connection was lost, because the number is then unknown.
     */
    readonly count: number | undefined;
  };
}

/** Event that listeners of `onEvents` get. */
export type TaskEvent = TaskEvents[keyof TaskEvents];

/** Names of the channels of `node:diagnostics_channel` on which this lib publishes events. No event contains a payload or a result. */
export const DELAYED_TASK_CHANNELS = Object.freeze({
  attemptSettled: 'luanest:delayed-task:attempt.settled',
  tasksBuried: 'luanest:delayed-task:tasks.buried',
  callFailed: 'luanest:delayed-task:call.failed',
  queueRepaired: 'luanest:delayed-task:queue.repaired',
});

export const events = eventChannels<DelayedTaskEvents>(DELAYED_TASK_CHANNELS);
