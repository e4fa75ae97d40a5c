export { deadLetter, retryLater } from '../../internal/src';
export { defineTask } from './define-task';
export { DelayedTask } from './delayed-task.decorator';
export { DelayedTaskEvents, type TaskEvents } from './delayed-task.events';
export { DelayedTaskModule } from './delayed-task.module';
export type { DelayedTaskModuleOptions } from './delayed-task.options';
export type { DelayedTaskQueue } from './delayed-task.queue';
export { DelayedTaskService } from './delayed-task.service';
export type {
  DeadLetter,
  NewTask,
  QueueStats,
  ScheduleOptions,
  TaskContext,
  TaskDefinition,
} from './delayed-task.types';
