import { LuanestError } from '../../internal/src';

/**
 * An argument of a call is invalid, such as an id, a name, a payload or a time, or the task of `get` has another name. The call
 * wrote nothing to Redis. Also kept as the error of a done task whose result JSON cannot hold.
 */
export class InvalidTaskError extends LuanestError {
  readonly code = 'INVALID_TASK';
}

/**
 * The payload or the result of a task has more than `maxPayloadBytes` bytes as JSON. For a payload, nothing was sent to Redis.
 */
export class TaskTooLargeError extends LuanestError {
  readonly code = 'TASK_TOO_LARGE';
}

/**
 * A handler cannot be registered, or the queue was created with another number of partitions. Thrown at boot and by `process`.
 */
export class DelayedTaskSetupError extends LuanestError {
  readonly code = 'DELAYED_TASK_SETUP';
}

/**
 * A handler did not end within `timeoutMs`. This is the reason of its `signal` if that had not fired before. It is the error of the
 * attempt, unless the handler returns or throws an outcome within `abortGraceMs`, or the task is handed back at shutdown.
 */
export class TaskTimeoutError extends LuanestError {
  readonly code = 'TASK_TIMEOUT';
}

/** A task was dead-lettered because workers without a handler for its name handed it back for `unknownTaskMs`. */
export class UnknownTaskError extends LuanestError {
  readonly code = 'UNKNOWN_TASK';
}

/** Reason of a handler's `signal`: the worker no longer has a lease of the task, for example because the task was cancelled. */
export class TaskLostError extends LuanestError {
  readonly code = 'TASK_LOST';
}

/** Reason of a handler's `signal`: the app shuts down, and `drainMs` is over. */
export class WorkerClosingError extends LuanestError {
  readonly code = 'WORKER_CLOSING';
}
