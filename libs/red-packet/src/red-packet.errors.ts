import { LuanestError } from '../../internal/src';

/**
 * There is an activity with this id and other parameters, or Redis has keys of an activity with this id but has lost its parameters.
 * The call changed no activity, but it may have left a draft (an unfinished creation).
 */
export class ActivityConflictError extends LuanestError {
  readonly code = 'ACTIVITY_CONFLICT';
}

/**
 * The activity was not opened, or not closed. Its creation is unfinished, or Redis has lost a part of the activity meanwhile. Call
 * `create` again with the same parameters before the retention ends. If that call fails too, choose another id.
 */
export class ActivityIncompleteError extends LuanestError {
  readonly code = 'ACTIVITY_INCOMPLETE';
}
