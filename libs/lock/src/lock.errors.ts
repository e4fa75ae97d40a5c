import { LuanestError } from '../../internal/src';

/**
 * The lock was not acquired within `waitMs`: others held it or waited for it first, or a lease ended before Redis' reply
 * arrived. Or it was lost before all of several names were acquired.
 */
export class LockBusyError extends LuanestError {
  readonly code = 'LOCK_BUSY';
}
