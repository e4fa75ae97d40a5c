import { eventChannels } from '../../internal/src';
import type { JobRecord } from './scheduled-lock.types';

/** A tick of a job, a run by hand or a call of a locked handler ended in this process, or did not run here. */
export interface TickEndedEvent extends JobRecord {
  /** Name of the job. */
  readonly name: string;
  /** The error that the job threw, or why Redis failed; undefined without an error. */
  readonly error?: unknown;
}

/** Names of the `node:diagnostics_channel` channels that jobs publish to. */
export const SCHEDULED_LOCK_CHANNELS = Object.freeze({ tickEnded: 'luanest:scheduled-lock:tick.ended' });

interface Events {
  tickEnded: TickEndedEvent;
}

/** Publishers of this lib's events. */
export const events = eventChannels<Events>(SCHEDULED_LOCK_CHANNELS);
