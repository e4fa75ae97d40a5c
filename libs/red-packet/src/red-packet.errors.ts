import { LuanestError } from '../../internal/src';

/** A parameter of an activity, a user id or a page is missing or invalid. Nothing was written. */
export class InvalidRedPacketInputError extends LuanestError {
  readonly code = 'INVALID_RED_PACKET_INPUT';
}

/** An activity with this id and other parameters exists. It was not changed. */
export class ActivityConflictError extends LuanestError {
  readonly code = 'ACTIVITY_CONFLICT';
}

/** The pool of a draft is incomplete, so the activity was not opened, or cannot be closed. Creating it again resumes. */
export class ActivityIncompleteError extends LuanestError {
  readonly code = 'ACTIVITY_INCOMPLETE';
}

/** The Redis user may not run commands that the scripts need. Thrown when the app boots. */
export class MissingPermissionError extends LuanestError {
  readonly code = 'MISSING_PERMISSION';
}
