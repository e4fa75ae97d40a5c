export { RateLimitThrottlerStorageModule } from './throttler-storage.module';
export type { RateLimitThrottlerStorageModuleOptions } from './throttler-storage.options';
export { RateLimitThrottlerStorage } from './throttler-storage.service';
