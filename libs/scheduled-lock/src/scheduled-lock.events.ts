import { channel } from 'node:diagnostics_channel';
import type { JobRecord } from './scheduled-lock.types';

/** A tick of a job ended, in this process. */
export interface JobOutcomeEvent extends JobRecord {
  readonly name: string;
  readonly error?: unknown;
}

/** Names of the `node:diagnostics_channel` channels that jobs publish to. */
export const SCHEDULED_LOCK_CHANNELS = Object.freeze({ outcome: 'luanest:scheduled-lock:outcome' });

const outcomes = channel(SCHEDULED_LOCK_CHANNELS.outcome);

/** Publishes an outcome; `make` runs only when someone listens. */
export function publishOutcome(make: () => JobOutcomeEvent): void {
  if (outcomes.hasSubscribers) outcomes.publish(make());
}
