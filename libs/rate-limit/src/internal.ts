// Exports for luanest/testing, which are not part of the public API.
export { RateLimitEnforcer } from './rate-limit.guard';
