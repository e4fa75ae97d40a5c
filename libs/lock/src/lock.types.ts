/** A lock that was acquired. */
export interface Lock {
  /** Names in sorted order; one, unless several were asked for. */
  readonly names: readonly string[];
  /** Rises with each acquisition of a name, also after its key was flushed; of several names, the greatest. */
  readonly fence: number;
  /**
   * Aborted at the local deadline, when a renewal finds the lock gone, and at shutdown after `drainMs`. Its reason is a
   * LockLostError.
   */
  readonly signal: AbortSignal;
  /** Whether the lease still lasts, by the local monotonic clock. */
  readonly held: boolean;
  /** The fence of one of the names. @throws LockLostError for a name that is not part of it */
  fenceOf(name: string): number;
  /** @throws LockLostError unless the lease still lasts */
  assertHeld(): void;
  /**
   * Lets the lease start anew, now.
   *
   * @param leaseMs from now, and at later renewals; default: as before
   * @throws LockLostError when it is over; errors of the registry when Redis fails
   */
  extend(leaseMs?: number): Promise<void>;
  /**
   * Stops the renewal and gives the lock up. Harmless twice: later calls get the first one's answer.
   *
   * @throws errors of the registry when Redis fails; the lease then ends by itself
   */
  release(): Promise<'released' | 'lost'>;
  /**
   * Releases at the end of the scope of `await using lock = ...`.
   *
   * @throws LockLostError when the lock was lost before
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Who holds a lock. */
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
