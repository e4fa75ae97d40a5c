/** A lock that was acquired, on one or several names. */
export interface Lock {
  /** Names of the lock, sorted, without duplicates. */
  readonly names: readonly string[];
  /**
   * Fencing token. Each acquisition of a name gets a higher fence than the one before. Redis may lose the last fence: an hour after the
   * end of the lease, by FLUSHALL, or by a failover. Then the next fence is the time of Redis in microseconds. So it is still higher,
   * unless the clock of Redis was set back. For several names: the highest of their fences.
   */
  readonly fence: number;
  /**
   * Signal that fires when the lock is lost before its release. The lock is lost when the lease ends by the clock of this process,
   * when a renewal finds no lease of this holder in Redis, or after `forceUnlock` of the same LockService. At shutdown, the signal
   * fires after `drainMs`. Its reason is a LostError.
   */
  readonly signal: AbortSignal;
  /** True until the release begins, the lock is lost, or the lease ends by the monotonic clock of this process. */
  readonly held: boolean;
  /** Returns the fence of one of the names. @throws LostError for a name that the lock does not include */
  fenceOf(name: string): number;
  /** Checks that the lock is held. Call it right before an action that must not happen without the lock. @throws LostError if it is not */
  assertHeld(): void;
  /**
   * Restarts the lease in Redis now.
   *
   * @param leaseMs length of the lease from now on, also of later renewals, ms; integer of 10 to 2^31 - 1. Default: as before
   * @throws LostError if the lock is not held; InvalidOptionError for an invalid `leaseMs`; the errors of ScriptRegistry.run() if
   *   Redis fails. After such a failure, this process lets the lease end as before, or after `leaseMs` if that is sooner. Later
   *   renewals use the new `leaseMs`. Of several names, some may have been extended
   */
  extend(leaseMs?: number): Promise<void>;
  /**
   * Stops the renewal and releases the lock. Further calls return the result of the first call.
   *
   * @returns `lost` if the lock was lost before its release. `unknown` if the reply was lost, so the release was sent again, but
   *   another owner had the lock by then: most probably the first release had run
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

/**
 * State of a lock, as `LockService.status()` returns it. `fence` is the last fencing token of the name; 0 if Redis has no record of
 * the name.
 */
export type LockStatus =
  | { readonly held: false; readonly fence: number }
  | {
      readonly held: true;
      /** Name of the process that holds the lock, from its option `node`. */
      readonly node: string;
      /**
       * When the lock was acquired, ms since 1970 by Redis' clock. It is calculated from the fence. So it is too late if that clock was
       * set back.
       */
      readonly acquiredAtMs: number;
      /** When the lease ends unless it is renewed, ms since 1970 by Redis' clock. */
      readonly leaseEndsAtMs: number;
      readonly fence: number;
    };
