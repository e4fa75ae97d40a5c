import { LuanestError } from '../../internal/src';

/** The decorators or providers of a job cannot work. Thrown at boot, with class and method. */
export class ScheduledLockSetupError extends LuanestError {
  readonly code = 'SCHEDULED_LOCK_SETUP';
}
