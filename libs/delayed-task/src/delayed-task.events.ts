import { eventChannels } from '../../internal/src';

/** An attempt ended. */
export interface TaskSettledEvent {
  readonly queue: string;
  readonly name: string;
  readonly id: string;
  readonly attempt: number;
  /**
   * `lost`: another has the task, or it is gone; nothing was changed. `released`: handed back at shutdown. `unknown`:
   * handed back because this process has no handler for the name. The last two do not count as attempts.
   */
  readonly outcome: 'done' | 'retried' | 'dead' | 'lost' | 'released' | 'unknown';
  /** How late it was taken, ms by Redis' clock. */
  readonly lateMs: number;
  readonly durationMs: number;
  /** What it failed with; undefined unless it failed. */
  readonly error: unknown;
}

/** Tasks became dead letters because their worker died in their last attempt. */
export interface TasksBuriedEvent {
  readonly queue: string;
  readonly count: number;
  /** Which, with the number of their last attempt. */
  readonly tasks: readonly { readonly id: string; readonly name: string; readonly attempt: number }[];
}

/** Redis could not be asked; what was asked is tried again. */
export interface WorkerErrorEvent {
  readonly queue: string;
  readonly during: 'take' | 'settle' | 'renew' | 'release' | 'subscribe' | 'sweep';
  readonly error: unknown;
}

/** A sweep found something that had lost its other half, to an eviction or a stray command. */
export interface QueueMendedEvent {
  readonly queue: string;
  /** Tasks that had lost their time, lease or death, and have it again. */
  readonly restored: number;
  /** Traces without a task, which were removed. */
  readonly dropped: number;
}

/** Names of the `node:diagnostics_channel` channels of this lib. No event carries a payload or a result. */
export const DELAYED_TASK_CHANNELS = Object.freeze({
  settled: 'luanest:delayed-task:settled',
  buried: 'luanest:delayed-task:buried',
  error: 'luanest:delayed-task:error',
  mended: 'luanest:delayed-task:mended',
});

interface Events {
  settled: TaskSettledEvent;
  buried: TasksBuriedEvent;
  error: WorkerErrorEvent;
  mended: QueueMendedEvent;
}

/** Where this lib tells what happens. */
export const events = eventChannels<Events>(DELAYED_TASK_CHANNELS);
