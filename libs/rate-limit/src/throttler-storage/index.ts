export { RateLimitThrottlerStorageModule } from './throttler-storage.module';
export { RateLimitThrottlerStorage } from './throttler-storage.service';
