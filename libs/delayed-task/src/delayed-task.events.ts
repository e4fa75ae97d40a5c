import { eventChannels } from '../../internal/src';

/** Type of each event of this lib, by its key in DELAYED_TASK_CHANNELS: `DelayedTaskEvents['attemptSettled']`, for example. */
export interface DelayedTaskEvents {
  /** An attempt ended, and Redis replied to its outcome; or the attempt was handed back at shutdown. */
  readonly attemptSettled: {
    readonly namespace: string;
    readonly name: string;
    readonly id: string;
    readonly attempt: number;
    /**
     * `done`: the handler succeeded. `retried`: another attempt follows. `dead`: the outcome dead-lettered the task. `lost`: the task
     * was no longer leased to this worker, for example because another worker took or dead-lettered it (`tasksBuried`) or it was
     * cancelled; nothing was changed. A success can also be `lost` if Redis' first reply to it did not arrive. `released`: the worker handed the task back at shutdown; if that
     * call failed, the lease ends by itself, and the attempt counts. `unknown`: the task was handed back, because this process has no
     * handler for its name; the attempt does not count.
     */
    readonly status: 'done' | 'retried' | 'dead' | 'lost' | 'released' | 'unknown';
    /** `lateMs` of the TaskContext, ms by Redis' clock; never negative. */
    readonly lateMs: number;
    /** Time from the start of the attempt until this event, ms. */
    readonly durationMs: number;
    /**
     * Error of a failed attempt, or SetupError for a task that no worker had a handler for; undefined if the attempt did not
     * fail, or its handler used `retryLater` or `deadLetter`.
     */
    readonly error?: unknown;
  };

  /** Tasks were dead-lettered, because their leases ended in their last attempt, for example because the worker died. */
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
   * A call of the worker to Redis failed. Until it stops, the worker tries again, except for `release`: if that call did not run, the
   * tasks wait for the end of their leases; and except for `broadcast`: the events are dropped, and listeners learn how many.
   */
  readonly callFailed: {
    readonly namespace: string;
    /**
     * `take`: leases due tasks. `settle`: sends outcomes. `renew`: extends leases. `release`: hands tasks back at shutdown.
     * `subscribe`: subscribes to wake-ups, or for `onEvents`. `sweep`: deletes old dead letters and repairs damage. `pause`: reads if the
     * queue is paused. `broadcast`: sends events to other processes.
     */
    readonly during: 'take' | 'settle' | 'renew' | 'release' | 'subscribe' | 'sweep' | 'pause' | 'broadcast';
    readonly error: unknown;
  };

  /** A sweep repaired tasks that were incomplete, for example because Redis evicted keys or somebody deleted entries. */
  readonly queueRepaired: {
    readonly namespace: string;
    /** Number of tasks that had lost their entry in `due`, `leased` or `dead`, and are waiting, running or dead-lettered again. */
    readonly restored: number;
    /** Number of entries in `runs` that had no task. They were deleted, with their leases. */
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
  /** When it happened, ms since 1970 by the clock of the process that ran the task. */
  readonly atMs: number;
}

/** Type of each event of `onEvents`, by its `type`: `TaskEvents['attemptSettled']`, for example. */
export interface TaskEvents {
  /** An attempt ended, as in the event `attemptSettled` of one process. Also sent for the tasks of `tasksBuried`, with the status `dead`. */
  readonly attemptSettled: AboutTask & {
    readonly type: 'attemptSettled';
    readonly status: DelayedTaskEvents['attemptSettled']['status'];
    /** Reason why the attempt failed or the task was dead-lettered, as `get` returns it: at most 1,000 characters. Otherwise ''. */
    readonly error: string;
  };

  /** The handler called `reportProgress`. */
  readonly progressReported: AboutTask & {
    readonly type: 'progressReported';
    readonly progress: unknown;
  };

  /** Events may be missing. If you need the states of tasks, read them with `get`. */
  readonly missed: {
    readonly type: 'missed';
    readonly namespace: string;
    /** Number of events that a process did not send; undefined if the connection was lost, so that the number is unknown. */
    readonly count: number | undefined;
  };
}

/** Event of a task, as listeners get it. */
export type TaskEvent = TaskEvents[keyof TaskEvents];

/** Names of this lib's channels of `node:diagnostics_channel`. No event carries a payload or a result. */
export const DELAYED_TASK_CHANNELS = Object.freeze({
  attemptSettled: 'luanest:delayed-task:attempt.settled',
  tasksBuried: 'luanest:delayed-task:tasks.buried',
  callFailed: 'luanest:delayed-task:call.failed',
  queueRepaired: 'luanest:delayed-task:queue.repaired',
});

export const events = eventChannels<DelayedTaskEvents>(DELAYED_TASK_CHANNELS);
