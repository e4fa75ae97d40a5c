import { eventChannels } from '../../internal/src';
import type { JobRecord } from './scheduled-lock.types';

/** Type of each event of this lib: `ScheduledLockEvents['tickEnded']`, for example. The constant ScheduledLockEvents names the channels. */
export interface ScheduledLockEvents {
  /**
   * A scheduled run (tick), the repetition of a lost run (catch-up), a run by hand or a call of a locked handler ended in this process, or
   * did not run here. For a run without a lock (`onRedisError: 'run'`), the event is published when the run begins. No event is published
   * for a tick whose scheduled instant is unknown, for a catch-up that found nothing to repeat, for a call inside a run of the same job,
   * and for a call after shutdown has begun.
   */
  readonly tickEnded: JobRecord & {
    readonly name: string;
    /** The error that the job threw, or the error of the call to Redis that claims the run. */
    readonly error?: unknown;
  };
}

/** Name of the `node:diagnostics_channel` channel that jobs publish to: `ScheduledLockEvents.tickEnded`. */
export const ScheduledLockEvents = Object.freeze({ tickEnded: 'luanest:scheduled-lock:tick.ended' });

export const events = eventChannels<ScheduledLockEvents>(ScheduledLockEvents);
