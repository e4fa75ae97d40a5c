export { InvalidRateLimitInputError } from './rate-limit.errors';
export {
  RATE_LIMIT_CHANNELS,
  type RateLimitBreakerEvent,
  type RateLimitDecidedEvent,
  type RateLimitFailedEvent,
  type RateLimitUnknownSubjectEvent,
} from './rate-limit.events';
export type { RateLimitOptions } from './rate-limit.options';
export { RateLimitService, type ConsumeOptions } from './rate-limit.service';
export type { RateLimitCheck, RateLimitDecision, RateLimitRuleDecision } from './rate-limit.types';
export type { BlockEscalation, PerRequest, RateLimitAlgorithm, RateLimitRule, RedisErrorPolicy } from './rules/rule';
