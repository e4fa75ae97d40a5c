import { eventChannels } from '../../internal/src';
import type { RateLimitDecision } from './rate-limit.types';

/** Type of each event of this lib: `RateLimitEvents['requestAllowed']`, for example. The constant RateLimitEvents names the channels. */
export interface RateLimitEvents {
  /**
   * Event of an allowed request. It does not name the subject (the counted client or user), because the subject may be a client
   * address or an API key.
   */
  readonly requestAllowed: {
    /** Names of the request's rules. */
    readonly rules: readonly string[];
    /** Names of the evaluated rules that the request violated. A shadow rule is listed, too, although it does not refuse. */
    readonly violated: readonly string[];
    /** Origin of the decision, as in RateLimitDecision. */
    readonly source: RateLimitDecision['source'];
    /**
     * Time until the request may be allowed, ms. Infinity if its cost exceeds the capacity of a rule that refuses it. 0 if the
     * request is allowed, or was refused by the policy `deny`.
     */
    readonly retryAfterMs: number;
  };

  /** Event of a refused request. It has the same fields as the event of an allowed request. */
  readonly requestRefused: RateLimitEvents['requestAllowed'];

  /**
   * Event of a request or peek that Redis did not decide, because the call to Redis failed or the circuit breaker was open. The
   * option `onRedisError` decided instead. Also the event of a failed refund after a request whose outcome does not count (option
   * `count` of a rule).
   */
  readonly redisFailed: {
    /** Names of the request's rules, or of the rules whose hits should have been refunded. */
    readonly rules: readonly string[];
    /** Policy that decided the request; `not-refunded` if a refund failed. */
    readonly policy: 'allow' | 'deny' | 'local' | 'not-refunded';
    /** Error of the call to Redis, or the error that the circuit breaker is open. */
    readonly error?: unknown;
  };

  /**
   * Event of the circuit breaker, which stops calls to Redis after repeated failures. `opened`: at most one request per second
   * calls Redis, as a test. `closed`: all requests call Redis again.
   */
  readonly breakerChanged: {
    readonly state: 'opened' | 'closed';
  };

  /**
   * Event of a request for which a rule finds no subject (the client or user to count). Depending on `onUnknownSubject`, the
   * request shares one counter with all such requests, or is refused.
   */
  readonly subjectUnknown: {
    /** Result of `context.getType()`: `http`, `rpc`, `ws`, `graphql` or another kind. */
    readonly context: string;
    readonly rule: string;
  };
}

/**
 * Names of the `node:diagnostics_channel` channels of this lib: `RateLimitEvents.requestRefused`, for example. No event has a field for
 * the subject.
 */
export const RateLimitEvents = Object.freeze({
  requestAllowed: 'luanest:rate-limit:request.allowed',
  requestRefused: 'luanest:rate-limit:request.refused',
  redisFailed: 'luanest:rate-limit:redis.failed',
  breakerChanged: 'luanest:rate-limit:breaker.changed',
  subjectUnknown: 'luanest:rate-limit:subject.unknown',
});

export const events = eventChannels<RateLimitEvents>(RateLimitEvents);
