export { LockBusyError } from './lock.errors';
export { LockEvents } from './lock.events';
export { LockModule } from './lock.module';
export type { LockModuleOptions, LockOptions } from './lock.options';
export { LockService } from './lock.service';
export type { Lock, LockStatus } from './lock.types';
