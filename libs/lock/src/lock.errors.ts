import { LuanestError } from '../../internal/src';

/** The lock was held until the end of `waitMs`. Nothing was acquired. */
export class LockBusyError extends LuanestError {
  readonly code = 'LOCK_BUSY';
}

/** The lock is no longer held: its lease ended, it was released, or another process forced it free. */
export class LockLostError extends LuanestError {
  readonly code = 'LOCK_LOST';
}

/** Code inside `withLock` asked for the same lock again, and would have waited for itself. */
export class ReentrantLockError extends LuanestError {
  readonly code = 'LOCK_REENTRANT';
}

/** Too few replicas had the lock in time, so it was released. */
export class LockNotReplicatedError extends LuanestError {
  readonly code = 'LOCK_NOT_REPLICATED';
}

/** The app is shutting down and acquires no more locks. */
export class LockClosedError extends LuanestError {
  readonly code = 'LOCK_CLOSED';
}
