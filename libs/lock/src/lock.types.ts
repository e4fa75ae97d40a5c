/** A lock that was acquired, on one or several names. */
export interface Lock {
  /** Names of the lock, sorted, without duplicates. */
  readonly names: readonly string[];
  /**
   * Fencing token. Each acquisition of a name gets a higher fence than the one before. Redis forgets the last fence an hour after the end
   * of the lease, and may lose it by FLUSHALL or a failover. The next fence, Redis' time in microseconds, is still higher then, unless the
   * clock was set back. For several names, this is the highest of their fences.
   */
  readonly fence: number;
  /**
   * Signal that is aborted with a LostError when the lock is lost before its release: when the lease ends by the clock of this process,
   * when a renewal finds that Redis no longer has the lease, or after `forceUnlock` of the same LockService. At a shutdown, it is aborted
   * after `drainMs`.
   */
  readonly signal: AbortSignal;
  /** True until the lock is being released, is lost, or its lease ends by the clock of this process. */
  readonly held: boolean;
  /** Returns the fencing token of one of the names. @throws LostError for a name that the lock does not include */
  fenceOf(name: string): number;
  /** Throws if the lock is not held. Call it right before an action that must not happen without the lock. @throws LostError */
  assertHeld(): void;
  /**
   * Restarts the lease in Redis now.
   *
   * @param leaseMs length of the lease from now on, also of later renewals, ms; integer of 10 to 2^31 - 1. Default: as before
   * @throws LostError if the lock is not held; InvalidOptionError for an invalid `leaseMs`; the errors of ScriptRegistry.run() if Redis
   *   fails. Then the lease ends at the earlier one of the old and the new end. With several names, some may have been extended
   */
  extend(leaseMs?: number): Promise<void>;
  /**
   * Stops the renewal and releases the lock. Further calls return the result of the first call.
   *
   * @returns `lost` if the lock was lost before its release. `unknown` if the release was sent twice after a lost reply, and another owner
   *   had the lock by then: most probably the first copy has released it
   * @throws the errors of ScriptRegistry.run() if Redis fails; the lease then ends at the latest after `leaseMs`
   */
  release(): Promise<'released' | 'lost' | 'unknown'>;
  /**
   * Releases the lock at the end of the scope of `await using lock = ...`. If the release fails, publishes the event `callFailed`.
   *
   * @throws LostError if the lock was lost before its release, or if the script failed
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/** State of a lock. `fence` is its last fencing token; 0 if Redis does not know the name. */
export type LockStatus =
  | { readonly held: false; readonly fence: number }
  | {
      readonly held: true;
      /** Option `node` of the process that holds the lock. */
      readonly node: string;
      /**
       * When the lock was acquired, ms since 1970 by Redis' clock. Computed from the fencing token, so it is too late if that clock was set
       * back.
       */
      readonly acquiredAtMs: number;
      /** When the lease ends unless it is renewed, ms since 1970 by Redis' clock. */
      readonly leaseEndsAtMs: number;
      readonly fence: number;
    };
