import { LuanestError } from '../../internal/src';

/**
 * There is an activity with this id and other parameters, or Redis has keys of an activity with this id but has lost its
 * parameters. The call changed no activity, but it may have left a draft.
 */
export class ActivityConflictError extends LuanestError {
  readonly code = 'ACTIVITY_CONFLICT';
}

/**
 * The activity was not opened or not closed, because its creation is unfinished or Redis has lost a part of it meanwhile. Send the
 * same create call again, which is possible until the retention ends. If that call fails too, choose another id.
 */
export class ActivityIncompleteError extends LuanestError {
  readonly code = 'ACTIVITY_INCOMPLETE';
}
