import { eventChannels } from '../../internal/src';
import type { RateLimitDecision } from './rate-limit.types';

/**
 * Events of this lib. `RateLimitEvents['requestAllowed']` is the type of an event;
 * the constant `RateLimitEvents` has the names of their channels.
 */
export interface RateLimitEvents {
  /**
   * A request was allowed. The event does not name the subject (the client or user that is counted), which may be a client address or an
   * API key.
   */
  readonly requestAllowed: {
    /** Names of the request's rules. */
    readonly rules: readonly string[];
    /** Names of the rules that the request violated, including shadow rules, which do not refuse. */
    readonly violated: readonly string[];
    /** Origin of the decision, see `source` of RateLimitDecision. */
    readonly source: RateLimitDecision['source'];
    /**
     * Time until the request may be allowed, ms. 0 if it is allowed, or was refused because Redis failed. Infinity if its cost exceeds the
     * capacity of a rule, so that waiting does not help.
     */
    readonly retryAfterMs: number;
  };

  /** A request was refused. The fields are those of `requestAllowed`. */
  readonly requestRefused: RateLimitEvents['requestAllowed'];

  /**
   * Redis did not decide a request or a call of `peek`, because Redis failed or the circuit breaker was open. So the option `onRedisError`
   * decided. Also published if a refund failed for a request that should not count (option `count` of a rule).
   */
  readonly redisFailed: {
    /** Names of the request's rules, or of the rules whose hits should have been refunded. */
    readonly rules: readonly string[];
    /** How the request was decided; `not-refunded` if a refund failed. */
    readonly policy: 'allow' | 'deny' | 'local' | 'not-refunded';
    /** Error of the call to Redis, or the error which says that the circuit breaker is open. */
    readonly error?: unknown;
  };

  /**
   * The circuit breaker, which stops calls to Redis after several failures, has changed. `opened`: at most one request per second calls
   * Redis, as a test. `closed`: all requests call Redis again.
   */
  readonly breakerChanged: {
    readonly state: 'opened' | 'closed';
  };

  /**
   * A rule found no subject (client or user to count) for a request. Depending on `onUnknownSubject`, such requests share one counter, or
   * are refused.
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
