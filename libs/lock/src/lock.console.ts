import type { ScriptRegistry } from 'luanest/script-registry';

/** State of a lock, for `luanest/console`. Instants are ms since 1970 by Redis' clock. */
export interface LockLook {
  readonly held: boolean;
  /** The last fence; 0 if Redis has no record of the name. */
  readonly fence: number;
  /** Option `node` of the process that holds the lock; '' if the lock is free. */
  readonly node: string;
  /** When the lock was acquired, as in LockStatus; of a free lock, when it was acquired or taken from its holder last. */
  readonly acquiredAtMs: number;
  /** When the lease ends unless it is renewed; 0 if the lock is free. */
  readonly leaseEndsAtMs: number;
  /** Number of processes that wait for the lock; processes that poll because the queue is full do not count. */
  readonly waiters: number;
  /** Since when the first of them waits; 0 if none waits. */
  readonly waitingSinceMs: number;
}

/** The view of LockService that `luanest/console` needs. */
export interface LockConsole {
  readonly registry: ScriptRegistry;
  /** Returns the number of locks that this process holds. */
  held(): number;
  look(name: string): Promise<LockLook>;
  /**
   * Takes a lock from the holder with this fence, as `forceUnlock` does. `changed`: nobody holds the lock with this fence, and nothing
   * was changed. `unknown`: the same, but the call was sent twice, so that the first one may have released it.
   */
  release(name: string, fence: number): Promise<'released' | 'changed' | 'unknown'>;
}
