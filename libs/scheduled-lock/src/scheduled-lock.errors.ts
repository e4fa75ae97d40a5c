import { LuanestError } from '../../internal/src';

/** A job's decorators or providers cannot work as they are; thrown at boot, naming class and method. */
export class ScheduledLockSetupError extends LuanestError {
  readonly code = 'SCHEDULED_LOCK_SETUP';
}
