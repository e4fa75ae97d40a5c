import { eventChannels } from '../../internal/src';

/**
 * Type of each event of this lib, by its key in LOCK_CHANNELS: `LockEvents['acquisitionEnded']`, for example. Runs of scheduled jobs
 * publish `lockReleased`, `lockLost` and `callFailed` (only `renew`) too, with the name of the job.
 */
export interface LockEvents {
  /** An acquisition of one or several names ended. */
  readonly acquisitionEnded: {
    readonly names: readonly string[];
    /**
     * `busy`: a name was not acquired within `waitMs`, or was lost before all names were acquired. `failed`: the call threw another
     * error than LockBusyError.
     */
    readonly status: 'acquired' | 'busy' | 'failed';
    /** Time from the call until its result or error, ms. */
    readonly durationMs: number;
  };

  /** A lock was released by its holder. */
  readonly lockReleased: {
    readonly name: string;
    readonly fence: number;
    /** Time from when the acquisition was sent until the reply to the release, ms. */
    readonly heldMs: number;
  };

  /** A lock was lost before its release. */
  readonly lockLost: {
    readonly name: string;
    readonly fence: number;
    /** Reason why the lock was lost, such as `the lease ended`. */
    readonly reason: string;
    /** Time since the acquisition was sent, ms. */
    readonly heldMs: number;
  };

  /**
   * A call to Redis failed: an automatic renewal, which is tried again until the release or end of the lease; the release at the end
   * of `withLock` or of `await using`; or the subscription of a waiting caller to releases.
   */
  readonly callFailed: {
    /** Name of the lock; several names are joined with `, `. */
    readonly name: string;
    readonly during: 'renew' | 'release' | 'subscribe';
    readonly error: unknown;
  };
}

/** Names of the `node:diagnostics_channel` channels that locks publish to. */
export const LOCK_CHANNELS = Object.freeze({
  acquisitionEnded: 'luanest:lock:acquisition.ended',
  lockReleased: 'luanest:lock:lock.released',
  lockLost: 'luanest:lock:lock.lost',
  callFailed: 'luanest:lock:call.failed',
});

export const events = eventChannels<LockEvents>(LOCK_CHANNELS);
