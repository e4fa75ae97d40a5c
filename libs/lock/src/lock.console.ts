import type { ScriptRegistry } from 'luanest/script-registry';

/** State of a lock, for `luanest/console`. All times are ms since 1970 by Redis' clock. */
export interface LockLook {
  readonly held: boolean;
  /** Last fencing token of the lock; 0 if Redis does not know the name. */
  readonly fence: number;
  /** Option `node` of the process that holds the lock; '' if the lock is free. */
  readonly node: string;
  /**
   * When the holder acquired the lock. If the lock is free: when it was last acquired or forced open; 0 if Redis does not know the name.
   */
  readonly acquiredAtMs: number;
  /** When the lease ends unless it is renewed; 0 if the lock is free. */
  readonly leaseEndsAtMs: number;
  /** Number of processes that wait in the lock's queue. If the queue is full, further processes poll, and do not count. */
  readonly waiters: number;
  /** When the first of these processes began to wait; 0 if no process waits. */
  readonly waitingSinceMs: number;
}

/** Reads and releases locks for `luanest/console`. */
export interface LockConsole {
  readonly registry: ScriptRegistry;
  /** Returns the number of locks that this process holds. */
  held(): number;
  look(name: string): Promise<LockLook>;
  /**
   * Takes a lock from the holder with this fencing token, as `forceUnlock` does. `changed`: nobody held the lock with this token, so
   * nothing happened. `unknown`: the call was sent twice, and the first copy may have released the lock.
   */
  release(name: string, fence: number): Promise<'released' | 'changed' | 'unknown'>;
}
