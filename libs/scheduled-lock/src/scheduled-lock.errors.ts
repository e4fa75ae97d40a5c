import { LuanestError } from '../../internal/src';

/**
 * A job is set up or called in a way that cannot work, or this app does not have it. Most messages have `Class.method` or the name
 * of the job. Mostly thrown when the app boots.
 */
export class ScheduledLockSetupError extends LuanestError {
  readonly code = 'SCHEDULED_LOCK_SETUP';
}
