import { eventChannels } from '../../internal/src';
import type { JobRecord } from './scheduled-lock.types';

/** Type of each event of this lib, by its key in SCHEDULED_LOCK_CHANNELS: `ScheduledLockEvents['tickEnded']`, for example. */
export interface ScheduledLockEvents {
  /**
   * A tick of a job, a catch-up, a run by hand or a call of a locked handler ended in this process, or did not run here. For a run
   * without a lock (`onRedisError: 'run'`), it is published when the run begins. It is not published for a tick whose
   * slot cannot be found, a catch-up that claimed no slot, a call inside a run of the same job, or a call after shutdown has begun.
   */
  readonly tickEnded: JobRecord & {
    readonly name: string;
    /** The error that the job threw, or with which the claim failed. */
    readonly error?: unknown;
  };
}

/** Names of the `node:diagnostics_channel` channels that jobs publish to. */
export const SCHEDULED_LOCK_CHANNELS = Object.freeze({ tickEnded: 'luanest:scheduled-lock:tick.ended' });

export const events = eventChannels<ScheduledLockEvents>(SCHEDULED_LOCK_CHANNELS);
