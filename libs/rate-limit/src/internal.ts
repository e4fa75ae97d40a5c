// Exports for luanest/testing. They are not part of the public API.
export { RateLimitEnforcer } from './rate-limit.guard';
