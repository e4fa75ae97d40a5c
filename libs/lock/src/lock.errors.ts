import { LuanestError } from '../../internal/src';

/** The lock was held by others for as long as the call was willing to wait; nothing was taken. */
export class LockBusyError extends LuanestError {
  readonly code = 'LOCK_BUSY';
}

/** The lock is not held any more: its lease ended, it was released, or it was taken away. */
export class LockLostError extends LuanestError {
  readonly code = 'LOCK_LOST';
}

/** Code that runs under a lock asked for the same lock again, and would have waited for itself. */
export class ReentrantLockError extends LuanestError {
  readonly code = 'LOCK_REENTRANT';
}

/** Too few replicas had the lock in time, so it was given back. */
export class LockNotReplicatedError extends LuanestError {
  readonly code = 'LOCK_NOT_REPLICATED';
}

/** The app shuts down and takes no more locks. */
export class LockClosedError extends LuanestError {
  readonly code = 'LOCK_CLOSED';
}
