import { LuanestError } from '../../internal/src';

/**
 * Until the end of `waitMs`, others held the lock or waited for it first; or the lease of one of several names ended before all
 * were acquired. No lock was acquired.
 */
export class LockBusyError extends LuanestError {
  readonly code = 'LOCK_BUSY';
}

/**
 * The lock is not held: it was released, its lease ended, `forceUnlock` took it away, Redis lost it, or the app is shutting down.
 * Also thrown by `fenceOf` for a name that the lock does not include.
 */
export class LockLostError extends LuanestError {
  readonly code = 'LOCK_LOST';
}

/** Code inside `withLock` tried to acquire the same name again. */
export class ReentrantLockError extends LuanestError {
  readonly code = 'LOCK_REENTRANT';
}

/** Too few replicas had the lock within `replicasTimeoutMs`, so the lock is released. */
export class LockNotReplicatedError extends LuanestError {
  readonly code = 'LOCK_NOT_REPLICATED';
}

/** The app is shutting down, so no lock was acquired. */
export class LockClosedError extends LuanestError {
  readonly code = 'LOCK_CLOSED';
}
