import { eventChannels } from '../../internal/src';

/** Somebody asked for a lock, of one name or several, and has his answer. */
export interface LockAcquisitionEndedEvent {
  readonly names: readonly string[];
  /** `busy`: others held it for as long as the caller would wait. `failed`: Redis or the caller's own mistake. */
  readonly outcome: 'acquired' | 'busy' | 'failed';
  /** How long it took, waiting included, ms. */
  readonly durationMs: number;
}

/** A lock was lost before it was released. */
export interface LockLostEvent {
  readonly name: string;
  readonly fence: number;
  readonly reason: string;
  /** From before it was asked for, ms. */
  readonly heldMs: number;
}

/** A lock was given back by its holder. */
export interface LockReleasedEvent {
  readonly name: string;
  readonly fence: number;
  /** From before it was asked for until it was given back, ms. */
  readonly heldMs: number;
}

/** A renewal or a release failed; renewals are tried again until the lease ends. */
export interface LockCallFailedEvent {
  readonly name: string;
  readonly during: 'renew' | 'release' | 'subscribe';
  readonly error: unknown;
}

/** Names of the `node:diagnostics_channel` channels that locks publish to. */
export const LOCK_CHANNELS = Object.freeze({
  acquisitionEnded: 'luanest:lock:acquisition.ended',
  lockReleased: 'luanest:lock:lock.released',
  lockLost: 'luanest:lock:lock.lost',
  callFailed: 'luanest:lock:call.failed',
});

interface Events {
  acquisitionEnded: LockAcquisitionEndedEvent;
  lockReleased: LockReleasedEvent;
  lockLost: LockLostEvent;
  callFailed: LockCallFailedEvent;
}

/** Where this lib tells what happens. */
export const events = eventChannels<Events>(LOCK_CHANNELS);
