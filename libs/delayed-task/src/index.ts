export {
  deadLetter,
  InvalidOutcomeError,
  retryLater,
  type DeadLetter,
  type RetryLater,
  type RetryLaterOptions,
} from '../../internal/src';
export { defineTask } from './define-task';
export { DelayedTask, type DelayedTaskOptions, type TaskMethodDecorator } from './delayed-task.decorator';
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
  type QueueRepairedEvent,
  type TasksBuriedEvent,
  type AttemptSettledEvent,
  type TaskCallFailedEvent,
} from './delayed-task.events';
export { DelayedTaskModule, type DelayedTaskModuleExtras } from './delayed-task.module';
export type { DelayedTaskModuleOptions } from './delayed-task.options';
export { DelayedTaskService } from './delayed-task.service';
export type {
  Backoff,
  CancelResult,
  ConflictOptions,
  DeadFilter,
  DeadPage,
  DeadTask,
  DefinedTask,
  DueTime,
  HandlerOptions,
  NamedTask,
  NewTask,
  QueueStats,
  RescheduleResult,
  ScheduleResult,
  ScheduleOptions,
  TaskContext,
  TaskDefinition,
  TaskDefinitionOptions,
  TaskHandler,
  TaskOptions,
  TaskSettings,
  TaskView,
} from './delayed-task.types';
