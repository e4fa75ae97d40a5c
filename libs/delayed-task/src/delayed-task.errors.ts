import { LuanestError } from '../../internal/src';

/** An id, a name, a payload, a time or another argument cannot be used; nothing was sent. */
export class InvalidTaskError extends LuanestError {
  readonly code = 'INVALID_TASK';
}

/** A task's payload, or its result, is larger than is stored. */
export class TaskTooLargeError extends LuanestError {
  readonly code = 'TASK_TOO_LARGE';
}

/** A handler cannot be registered, or the queue was laid out otherwise; thrown at boot. */
export class DelayedTaskSetupError extends LuanestError {
  readonly code = 'DELAYED_TASK_SETUP';
}

/** A handler did not end within `timeoutMs`. */
export class TaskTimeoutError extends LuanestError {
  readonly code = 'TASK_TIMEOUT';
}

/** A task is a dead letter because no worker had a handler for its name within `unknownTaskMs`. */
export class UnknownTaskError extends LuanestError {
  readonly code = 'UNKNOWN_TASK';
}

/** The reason of a signal that fired because another may have the task now. */
export class TaskLostError extends LuanestError {
  readonly code = 'TASK_LOST';
}

/** The reason of a signal that fired because the app shuts down. */
export class WorkerClosingError extends LuanestError {
  readonly code = 'WORKER_CLOSING';
}

/** Thrown by a handler: the task is a dead letter at once, whatever attempts are left. */
export class DeadLetterTaskError extends LuanestError {
  readonly code = 'DEAD_LETTER_TASK';
}

/** Thrown by a handler: the attempt failed, and the next one is due after a time of its choice. */
export class RetryTaskError extends LuanestError {
  readonly code = 'RETRY_TASK';

  /** @param delayMs until the next attempt, ms; integer, at most 100 years; one below 0 is now */
  constructor(
    readonly delayMs: number,
    message = 'The handler asked for another attempt.',
  ) {
    super(message);
  }
}
