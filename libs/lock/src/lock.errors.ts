import { LuanestError } from '../../internal/src';

/**
 * The lock was not acquired within `waitMs`: others held it or waited for it first, or a lease ended before Redis' reply
 * arrived. Or it was lost before all of several names were acquired.
 */
export class LockBusyError extends LuanestError {
  readonly code = 'LOCK_BUSY';
}

/**
 * The lock is not held: it was released, its lease ended, `forceUnlock` took it away, Redis lost it, another program
 * overwrote its key, or the app is shutting down. Also thrown by `fenceOf` for a name that the lock does not include, and by
 * `assertHeld` of scheduled jobs outside of a run, or in a run without a lock.
 */
export class LockLostError extends LuanestError {
  readonly code = 'LOCK_LOST';
}

/** Code inside `withLock` tried to acquire a name that this `withLock` holds. */
export class ReentrantLockError extends LuanestError {
  readonly code = 'LOCK_REENTRANT';
}

/**
 * Too few replicas had the lock within `replicasTimeoutMs`. The lock is released; if that fails, it stays in Redis until its lease
 * ends.
 */
export class LockNotReplicatedError extends LuanestError {
  readonly code = 'LOCK_NOT_REPLICATED';
}

/** The app is shutting down, so no lock was acquired. */
export class LockClosedError extends LuanestError {
  readonly code = 'LOCK_CLOSED';
}
