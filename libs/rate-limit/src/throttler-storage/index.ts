export {
  RateLimitThrottlerStorageModule,
  type RateLimitThrottlerStorageModuleExtras,
} from './throttler-storage.module';
export type { RateLimitThrottlerStorageOptions } from './throttler-storage.options';
export { RateLimitThrottlerStorage } from './throttler-storage.service';
