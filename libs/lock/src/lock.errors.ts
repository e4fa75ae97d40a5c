import { LuanestError } from '../../internal/src';

/**
 * The lock was not acquired within `waitMs`: others held it or waited for it first, or the new lease ended before Redis' reply arrived.
 * Also thrown if one of several names was lost before all of them were acquired.
 */
export class LockBusyError extends LuanestError {
  readonly code = 'LOCK_BUSY';
}
