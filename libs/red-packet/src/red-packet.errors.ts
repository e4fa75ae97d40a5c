import { LuanestError } from '../../internal/src';

/**
 * An activity with this id exists with other parameters, or Redis has lost the parameters of an activity with this id. No activity was
 * changed, but an unfinished one (a draft) may have been left.
 */
export class ActivityConflictError extends LuanestError {
  readonly code = 'ACTIVITY_CONFLICT';
}

/**
 * The activity was not opened or closed, because its creation is unfinished, or Redis has lost a part of it. Call `create` again with the
 * same parameters before the retention ends. If that fails, too, choose another id.
 */
export class ActivityIncompleteError extends LuanestError {
  readonly code = 'ACTIVITY_INCOMPLETE';
}
