import { eventChannels } from '../../internal/src';

/**
 * Events of this lib. `LockEvents['acquisitionEnded']` is the type of an event; the constant `LockEvents` has the names of their channels.
 * Scheduled jobs also publish `lockReleased`, `lockLost` and `callFailed` (only `renew`), with the name of the job.
 */
export interface LockEvents {
  /** An attempt to acquire one or several names has ended. */
  readonly acquisitionEnded: {
    readonly names: readonly string[];
    /**
     * `busy`: a name was not acquired within `waitMs`, or was lost before all names were acquired. `failed`: any other error was thrown.
     */
    readonly status: 'acquired' | 'busy' | 'failed';
    /** Time from the call of the acquisition until its result or error, ms. */
    readonly durationMs: number;
  };

  /** A lock was released by its holder. */
  readonly lockReleased: {
    readonly name: string;
    readonly fence: number;
    /** How long the lock was held, ms: from sending the acquisition until the reply to the release. */
    readonly heldMs: number;
  };

  /** A lock was lost before its holder released it. */
  readonly lockLost: {
    readonly name: string;
    readonly fence: number;
    /** Reason why the lock was lost, such as `the lease ended`. */
    readonly reason: string;
    /** How long the lock was held, ms: from sending the acquisition until the loss. */
    readonly heldMs: number;
  };

  /**
   * A call to Redis failed. `renew`: an automatic renewal; it is tried again until the lock is released or its lease ends. `release`: the
   * release at the end of `withLock` or of `await using`. `subscribe`: the Pub/Sub subscription that wakes callers when a lock is released.
   */
  readonly callFailed: {
    /** Name of the lock; several names are joined with `, `. */
    readonly name: string;
    readonly during: 'renew' | 'release' | 'subscribe';
    readonly error: unknown;
  };
}

/** Names of the `node:diagnostics_channel` channels that locks publish to: `LockEvents.lockLost`, for example. */
export const LockEvents = Object.freeze({
  acquisitionEnded: 'luanest:lock:acquisition.ended',
  lockReleased: 'luanest:lock:lock.released',
  lockLost: 'luanest:lock:lock.lost',
  callFailed: 'luanest:lock:call.failed',
});

export const events = eventChannels<LockEvents>(LockEvents);
