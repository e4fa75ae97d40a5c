import { eventChannels } from '../../internal/src';
import type { JobRecord } from './scheduled-lock.types';

/** Type of each event of this lib, by its key in SCHEDULED_LOCK_CHANNELS: `ScheduledLockEvents['tickEnded']`, for example. */
export interface ScheduledLockEvents {
  /** A tick of a job, a run by hand or a call of a locked handler ended in this process, or did not run here. */
  readonly tickEnded: JobRecord & {
    /** Name of the job. */
    readonly name: string;
    /** The error that the job threw, or why Redis failed; undefined without an error. */
    readonly error?: unknown;
  };
}

/** Names of the `node:diagnostics_channel` channels that jobs publish to. */
export const SCHEDULED_LOCK_CHANNELS = Object.freeze({ tickEnded: 'luanest:scheduled-lock:tick.ended' });

/** Publishers of this lib's events. */
export const events = eventChannels<ScheduledLockEvents>(SCHEDULED_LOCK_CHANNELS);
