import { eventChannels } from '../../internal/src';

/** An attempt ended, and Redis has its outcome. */
export interface AttemptSettledEvent {
  readonly queue: string;
  readonly name: string;
  readonly id: string;
  readonly attempt: number;
  /**
   * `done`: the handler succeeded. `retried`: another attempt follows. `dead`: the task was
   * dead-lettered. `lost`: another worker has the task, or the task was cancelled or replaced; nothing was changed.
   * `released`: handed back at shutdown. `unknown`: handed back because this process has no handler for the name. The last
   * two do not count as attempts.
   */
  readonly outcome: 'done' | 'retried' | 'dead' | 'lost' | 'released' | 'unknown';
  /** Time from when the attempt was due until it was taken, ms by Redis' clock; never negative. */
  readonly lateMs: number;
  /** Time from when the attempt was taken until Redis had its outcome, ms. */
  readonly durationMs: number;
  /** The error of a failed attempt; undefined if the attempt did not fail, or its handler asked for the outcome. */
  readonly error?: unknown;
}

/** Tasks were dead-lettered because their worker died in their last attempt. */
export interface TasksBuriedEvent {
  readonly queue: string;
  readonly count: number;
  /** The tasks, each with the number of its last attempt. */
  readonly tasks: readonly { readonly id: string; readonly name: string; readonly attempt: number }[];
}

/** A call of the worker to Redis failed. The worker tries again. */
export interface TaskCallFailedEvent {
  readonly queue: string;
  /** The part of the worker that made the call. */
  readonly during: 'take' | 'settle' | 'renew' | 'release' | 'subscribe' | 'sweep';
  readonly error: unknown;
}

/** A sweep repaired tasks that an eviction or a stray command had left incomplete. */
export interface QueueRepairedEvent {
  readonly queue: string;
  /** Tasks that were in none of the queue's sorted sets, and are waiting, running or dead-lettered again. */
  readonly restored: number;
  /** Runs and leases without a task, which were removed. */
  readonly dropped: number;
}

/** Names of this lib's channels of `node:diagnostics_channel`. No event carries a payload or a result. */
export const DELAYED_TASK_CHANNELS = Object.freeze({
  attemptSettled: 'luanest:delayed-task:attempt.settled',
  tasksBuried: 'luanest:delayed-task:tasks.buried',
  callFailed: 'luanest:delayed-task:call.failed',
  queueRepaired: 'luanest:delayed-task:queue.repaired',
});

interface Events {
  attemptSettled: AttemptSettledEvent;
  tasksBuried: TasksBuriedEvent;
  callFailed: TaskCallFailedEvent;
  queueRepaired: QueueRepairedEvent;
}

/** Publishers of this lib's events. */
export const events = eventChannels<Events>(DELAYED_TASK_CHANNELS);
