/** Injects ResolvedRateLimitOptions. */
export const RATE_LIMIT_OPTIONS = Symbol('luanest:rate-limit-options');
/** Injects RateLimitEnforcer. */
export const RATE_LIMIT_EDGE = Symbol('luanest:rate-limit-edge');
