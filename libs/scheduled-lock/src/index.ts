export { ScheduledLock } from './scheduled-lock.decorator';
export { ScheduledLockEvents } from './scheduled-lock.events';
export { ScheduledLockInterceptor } from './scheduled-lock.interceptor';
export { ScheduledLockModule } from './scheduled-lock.module';
export type { ScheduledLockModuleOptions } from './scheduled-lock.options';
export { ScheduledLockService } from './scheduled-lock.service';
export type { JobRecord, ScheduledLockOptions, ScheduledRun } from './scheduled-lock.types';
