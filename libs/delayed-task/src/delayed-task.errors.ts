import { LuanestError } from '../../internal/src';

/** An argument of a call is invalid, such as an id, a name, a payload or a time. Nothing was sent to Redis. */
export class InvalidTaskError extends LuanestError {
  readonly code = 'INVALID_TASK';
}

/** The payload or the result of a task has more than `maxPayloadBytes` bytes as JSON. */
export class TaskTooLargeError extends LuanestError {
  readonly code = 'TASK_TOO_LARGE';
}

/** A handler cannot be registered, or the queue was created with another number of partitions. Thrown at boot. */
export class DelayedTaskSetupError extends LuanestError {
  readonly code = 'DELAYED_TASK_SETUP';
}

/** A handler did not end within `timeoutMs`. The reason of its signal, and the error of the attempt. */
export class TaskTimeoutError extends LuanestError {
  readonly code = 'TASK_TIMEOUT';
}

/** A task was dead-lettered because no worker had a handler for its name within `unknownTaskMs`. */
export class UnknownTaskError extends LuanestError {
  readonly code = 'UNKNOWN_TASK';
}

/** The reason of a signal that fired because another worker may have the task, or because the task was cancelled or replaced. */
export class TaskLostError extends LuanestError {
  readonly code = 'TASK_LOST';
}

/** The reason of a signal that fired because the app shuts down and `drainMs` is over. */
export class WorkerClosingError extends LuanestError {
  readonly code = 'WORKER_CLOSING';
}
