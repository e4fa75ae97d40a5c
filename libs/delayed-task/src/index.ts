export {
  deadLetter,
  InvalidOutcomeError,
  retryLater,
  type DeadLetter,
  type RetryLater,
  type RetryLaterOptions,
} from '../../internal/src';
export { DelayedTask, type DelayedTaskOptions } from './delayed-task.decorator';
export {
  DelayedTaskSetupError,
  InvalidTaskError,
  TaskLostError,
  TaskTimeoutError,
  TaskTooLargeError,
  UnknownTaskError,
  WorkerClosingError,
} from './delayed-task.errors';
export {
  DELAYED_TASK_CHANNELS,
  type QueueMendedEvent,
  type TasksBuriedEvent,
  type TaskSettledEvent,
  type WorkerErrorEvent,
} from './delayed-task.events';
export { DelayedTaskModule, type DelayedTaskModuleExtras } from './delayed-task.module';
export type { DelayedTaskModuleOptions } from './delayed-task.options';
export { DelayedTaskService } from './delayed-task.service';
export { DELAYED_TASK_CONTEXT } from './handlers/nest-handler';
export type {
  Backoff,
  CancelAnswer,
  ConflictOptions,
  DeadFilter,
  DeadPage,
  DeadTask,
  DueTime,
  HandlerOptions,
  NewTask,
  QueueStats,
  RescheduleAnswer,
  ScheduleAnswer,
  ScheduleOptions,
  TaskContext,
  TaskHandler,
  TaskOptions,
  TaskView,
} from './delayed-task.types';
