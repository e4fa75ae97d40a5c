/** A lock that was acquired. */
export interface Lock {
  /** Names of the lock in sorted order; one, unless several were acquired together. */
  readonly names: readonly string[];
  /** Fencing token. Rises with each acquisition of a name, also after its key was flushed; of several names, the greatest. */
  readonly fence: number;
  /**
   * Signal that is aborted at the local deadline, when a renewal finds the lock gone, and at shutdown after `drainMs`. Its
   * reason is a LockLostError.
   */
  readonly signal: AbortSignal;
  /** True while the lease lasts, by the local monotonic clock. */
  readonly held: boolean;
  /** Returns the fence of one of the names. @throws LockLostError for a name that is not part of the lock */
  fenceOf(name: string): number;
  /** To be called right before an action that must not happen without the lock. @throws LockLostError unless it is held */
  assertHeld(): void;
  /**
   * Restarts the lease now.
   *
   * @param leaseMs length of the lease from now on, also of later renewals, ms; integer of 10 to 2^31 - 1. Default: as before
   * @throws LockLostError if the lock is not held; errors of ScriptRegistry.run() if Redis fails
   */
  extend(leaseMs?: number): Promise<void>;
  /**
   * Stops the renewal and releases the lock. Later calls return the result of the first.
   *
   * @throws errors of ScriptRegistry.run() if Redis fails; the lease then ends by itself
   */
  release(): Promise<'released' | 'lost'>;
  /**
   * Releases the lock at the end of the scope of `await using lock = ...`.
   *
   * @throws LockLostError if the lock was lost before
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/** State of a lock, as `LockService.status()` returns it. `fence` is 0 if none is known. */
export type LockStatus =
  | { readonly held: false; readonly fence: number }
  | {
      readonly held: true;
      /** The `holder` option of the process that holds the lock. */
      readonly holder: string;
      /** When the lock was acquired, ms since 1970 by Redis' clock. */
      readonly acquiredAtMs: number;
      /** When the lease ends unless it is renewed, ms since 1970 by Redis' clock. */
      readonly leaseEndsAtMs: number;
      readonly fence: number;
    };
