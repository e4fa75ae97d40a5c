import { LuanestError } from '../../internal/src';

/** A field of an activity, a user or a page is missing, of the wrong type or out of range; nothing was written. */
export class InvalidRedPacketInputError extends LuanestError {
  readonly code = 'INVALID_RED_PACKET_INPUT';
}

/** The activity's id is taken by one with other figures; nothing was written. */
export class ActivityConflictError extends LuanestError {
  readonly code = 'ACTIVITY_CONFLICT';
}

/** A draft's pool could not be completed, so the activity stays closed; creating it again resumes. */
export class ActivityIncompleteError extends LuanestError {
  readonly code = 'ACTIVITY_INCOMPLETE';
}

/** The Redis user lacks commands that the scripts need; thrown when the module initialises. */
export class MissingPermissionError extends LuanestError {
  readonly code = 'MISSING_PERMISSION';
}
