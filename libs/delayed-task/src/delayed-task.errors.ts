import { LuanestError } from '../../internal/src';

/**
 * The payload or the result of a task has more than `maxPayloadBytes` bytes as JSON. For a payload, nothing was sent to Redis.
 */
export class TaskTooLargeError extends LuanestError {
  readonly code = 'TASK_TOO_LARGE';
}

/** A task was dead-lettered because workers without a handler for its name handed it back for `unknownTaskMs`. */
export class UnknownTaskError extends LuanestError {
  readonly code = 'UNKNOWN_TASK';
}
