import type { ScriptRegistry } from 'luanest/script-registry';

/** State of a lock, for `luanest/console`. All times are ms since 1970 by Redis' clock. */
export interface LockLook {
  readonly held: boolean;
  /** The last fencing token of the name; 0 if Redis has no record of the name. */
  readonly fence: number;
  /** Option `node` of the process that holds the lock; '' if the lock is free. */
  readonly node: string;
  /**
   * When the holder acquired the lock, as in LockStatus. If the lock is free: when it was last acquired, or taken from its holder if that
   * was later; 0 if Redis has no record of the name.
   */
  readonly acquiredAtMs: number;
  /** When the lease ends unless it is renewed; 0 if the lock is free. */
  readonly leaseEndsAtMs: number;
  /** Number of processes in the lock's queue in Redis. If the queue is full, further processes poll. They are not counted. */
  readonly waiters: number;
  /** When the first of these processes began to wait; 0 if none waits. */
  readonly waitingSinceMs: number;
}

/** The view of LockService that `luanest/console` needs. */
export interface LockConsole {
  readonly registry: ScriptRegistry;
  /** Returns the number of locks that this process holds. */
  held(): number;
  look(name: string): Promise<LockLook>;
  /**
   * Takes a lock from the holder with this fence, as `forceUnlock` does. `changed`: nobody held the lock with this fence, so the call
   * did nothing. `unknown`: the call was sent twice, and the second one did nothing. The first one may have released the lock.
   */
  release(name: string, fence: number): Promise<'released' | 'changed' | 'unknown'>;
}
