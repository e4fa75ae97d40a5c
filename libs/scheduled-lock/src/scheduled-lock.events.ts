import { eventChannels } from '../../internal/src';
import type { JobRecord } from './scheduled-lock.types';

/** A tick of a job ended in this process. */
export interface TickEndedEvent extends JobRecord {
  readonly name: string;
  readonly error?: unknown;
}

/** Names of the `node:diagnostics_channel` channels that jobs publish to. */
export const SCHEDULED_LOCK_CHANNELS = Object.freeze({ tickEnded: 'luanest:scheduled-lock:tick.ended' });

interface Events {
  tickEnded: TickEndedEvent;
}

/** Publishers of this lib's events. */
export const events = eventChannels<Events>(SCHEDULED_LOCK_CHANNELS);
