import { eventChannels } from '../../internal/src';

/** An acquisition of one or several names ended. */
export interface LockAcquisitionEndedEvent {
  readonly names: readonly string[];
  /** `busy`: the lock was held until the end of the wait. `failed`: the call threw another error. */
  readonly outcome: 'acquired' | 'busy' | 'failed';
  /** Duration of the call, waiting included, ms. */
  readonly durationMs: number;
}

/** A lock was lost before its release. */
export interface LockLostEvent {
  readonly name: string;
  readonly fence: number;
  readonly reason: string;
  /** Time since the acquisition was sent, ms. */
  readonly heldMs: number;
}

/** A lock was released by its holder. */
export interface LockReleasedEvent {
  readonly name: string;
  readonly fence: number;
  /** Time from when the acquisition was sent until the reply to the release, ms. */
  readonly heldMs: number;
}

/** A renewal, a release or a subscription failed. Renewals are tried again until the lease ends. */
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

/** Publishers of this lib's events. */
export const events = eventChannels<Events>(LOCK_CHANNELS);
