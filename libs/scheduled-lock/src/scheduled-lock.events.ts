import { eventChannels } from '../../internal/src';
import type { JobRecord } from './scheduled-lock.types';

/**
 * Events of this lib. `ScheduledLockEvents['tickEnded']` is the type of an event;
 * the constant `ScheduledLockEvents` has the names of their channels.
 */
export interface ScheduledLockEvents {
  /**
   * A run of a job has ended in this process, or did not happen here: a scheduled run, the repetition of a lost run, a run by hand, or a
   * call of a locked handler. For a run without a lock (`onRedisError: 'run'`), the event is published when the run begins. There is no
   * event if the scheduled time is unknown, if a search for lost runs found none, for a call inside a run of the same job, and for a call
   * during a shutdown.
   */
  readonly tickEnded: JobRecord & {
    readonly name: string;
    /** Error of the job, or of the call to Redis that claims the run. */
    readonly error?: unknown;
  };
}

/** Name of the `node:diagnostics_channel` channel that jobs publish to: `ScheduledLockEvents.tickEnded`. */
export const ScheduledLockEvents = Object.freeze({ tickEnded: 'luanest:scheduled-lock:tick.ended' });

export const events = eventChannels<ScheduledLockEvents>(ScheduledLockEvents);
