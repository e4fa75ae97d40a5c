export type { RateLimitResponseOptions } from './responses/responses.options';
export type { RateLimitContextAdapter } from './contexts/context-adapter';
export { RateLimit, RateLimitResult, SkipRateLimit } from './rate-limit.decorator';
export { InvalidRateLimitInputError } from './rate-limit.errors';
export {
  RATE_LIMIT_CHANNELS,
  type RateLimitBreakerEvent,
  type RateLimitDecidedEvent,
  type RateLimitFailedEvent,
  type RateLimitUnknownSubjectEvent,
} from './rate-limit.events';
export { RateLimitException } from './rate-limit.exception';
export { RateLimitGuard } from './rate-limit.guard';
export { RateLimitInterceptor } from './rate-limit.interceptor';
export { RateLimitModule } from './rate-limit.module';
export type { RateLimitModuleOptions } from './rate-limit.options';
export { RateLimitService } from './rate-limit.service';
export { RateLimitTestClock, RateLimitTestingModule, type RateLimitTestingModuleOptions } from './rate-limit.testing';
export type { RateLimitCheck, RateLimitDecision, RateLimitRuleDecision } from './rate-limit.types';
export { getRateLimitResult } from './rules/results';
export type { RateLimitAlgorithm, RateLimitRule } from './rules/rule';
