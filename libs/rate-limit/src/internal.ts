// For luanest/testing. Users do not see it.
export { RateLimitEnforcer } from './rate-limit.guard';
