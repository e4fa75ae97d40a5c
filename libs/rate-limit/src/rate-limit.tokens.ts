/** Injects ResolvedRateLimitOptions. */
export const RATE_LIMIT_OPTIONS = Symbol('luanest:rate-limit-options');
/** Injects RateLimitEdge. */
export const RATE_LIMIT_EDGE = Symbol('luanest:rate-limit-edge');
