import { LuanestError } from '../../internal/src';

/**
 * A job is set up or called in a way that cannot work, or this app does not have it. The message has `Class.method` or the name of
 * the job. Mostly thrown when the app boots.
 */
export class ScheduledLockSetupError extends LuanestError {
  readonly code = 'SCHEDULED_LOCK_SETUP';
}
