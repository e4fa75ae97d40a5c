import { channel } from 'node:diagnostics_channel';

/** A lock was lost before it was released. */
export interface LockLostEvent {
  readonly name: string;
  readonly fence: number;
  readonly reason: string;
}

/** A renewal or a release failed; renewals are tried again until the lease ends. */
export interface LockErrorEvent {
  readonly name: string;
  readonly during: 'renew' | 'release' | 'subscribe';
  readonly error: unknown;
}

/** Names of the `node:diagnostics_channel` channels that locks publish to. */
export const LOCK_CHANNELS = Object.freeze({ lost: 'luanest:lock:lost', error: 'luanest:lock:error' });

const channels = { lost: channel(LOCK_CHANNELS.lost), error: channel(LOCK_CHANNELS.error) };

interface Events {
  lost: LockLostEvent;
  error: LockErrorEvent;
}

/** Publishes an event; `make` runs only when someone listens. */
export function publish<E extends keyof Events>(event: E, make: () => Events[E]): void {
  if (channels[event].hasSubscribers) channels[event].publish(make());
}
