import { LuanestError } from '../../internal/src';

/**
 * The lock was not acquired within `waitMs`: others held it or waited for it first, or a lease ended before Redis' reply
 * arrived. Or it was lost before all of several names were acquired.
 */
export class LockBusyError extends LuanestError {
  readonly code = 'LOCK_BUSY';
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
