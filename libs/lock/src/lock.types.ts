/** A lock that was acquired. */
export interface Lock {
  /** Names of the lock, sorted and each once. */
  readonly names: readonly string[];
  /**
   * Fencing token. The fence of a name rises with each acquisition. If Redis no longer has the name's key (an hour after
   * the lease, FLUSHALL, a failover), the fence is Redis' time in microseconds, so it rises unless that clock is behind.
   * For several names: the highest of their fences.
   */
  readonly fence: number;
  /**
   * Signal that is aborted when the lock is lost before its release: at the end of the lease by the local clock, when a renewal
   * finds no lease of this holder in Redis, after `forceUnlock` of the same LockService, and at shutdown after `drainMs`. Its
   * reason is a LostError.
   */
  readonly signal: AbortSignal;
  /** True until the release begins, the lock is lost, or its lease ends by the local monotonic clock. */
  readonly held: boolean;
  /** Returns the fence of one of the names. @throws LostError for a name that the lock does not include */
  fenceOf(name: string): number;
  /** Call it right before an action that must not happen without the lock. @throws LostError unless the lock is held */
  assertHeld(): void;
  /**
   * Restarts the lease in Redis now.
   *
   * @param leaseMs length of the lease from now on, also of later renewals, ms; integer of 10 to 2^31 - 1. Default: as before
   * @throws LostError if the lock is not held; InvalidOptionError for any other `leaseMs`; the errors of ScriptRegistry.run()
   *   if Redis fails: then the lease keeps its end in this process, or ends after `leaseMs` if that is sooner, and later renewals
   *   use the new `leaseMs`. With several names, some may have been extended
   */
  extend(leaseMs?: number): Promise<void>;
  /**
   * Stops the renewal and releases the lock. Further calls return the result of the first call.
   *
   * @returns `lost` if the lock was lost before; `unknown` if the reply was lost, and when the release was sent again, another owner
   *   had the lock: most probably the release had run
   * @throws the errors of ScriptRegistry.run() if Redis fails; the lease then ends at the latest after `leaseMs`
   */
  release(): Promise<'released' | 'lost' | 'unknown'>;
  /**
   * Releases the lock at the end of the scope of `await using lock = ...`. If the release fails, publishes the event `callFailed`.
   *
   * @throws LostError if the lock was lost before its release, or if the script of the release failed
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/** State of a lock, as `LockService.status()` returns it. `fence` is the last fence of the name; 0 if Redis has no record of it. */
export type LockStatus =
  | { readonly held: false; readonly fence: number }
  | {
      readonly held: true;
      /** Name of the process that holds the lock, from its option `node`. */
      readonly node: string;
      /**
       * When the lock was acquired, ms since 1970 by Redis' clock. Taken from the fence, so too late if that clock was set
       * back.
       */
      readonly acquiredAtMs: number;
      /** When the lease ends unless it is renewed, ms since 1970 by Redis' clock. */
      readonly leaseEndsAtMs: number;
      readonly fence: number;
    };
