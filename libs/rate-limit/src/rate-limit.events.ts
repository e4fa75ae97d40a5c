import { eventChannels } from '../../internal/src';
import type { RateLimitDecision } from './rate-limit.types';

/** Event of a decided request. It carries no subject, because subjects may be addresses or API keys. */
export interface RateLimitDecidedEvent {
  /** Names of the rules that were checked. */
  readonly rules: readonly string[];
  /** Names of the rules that refuse, including shadow rules. */
  readonly violated: readonly string[];
  /** Origin of the decision. */
  readonly source: RateLimitDecision['source'];
  /** Time until the request may be allowed, ms; 0 if it is allowed, Infinity if its cost exceeds a rule's capacity. */
  readonly retryAfterMs: number;
}

/** Event of a request that Redis did not decide, or of a refund that failed. */
export interface RateLimitFailedEvent {
  /** Names of the rules. */
  readonly rules: readonly string[];
  /** Policy that was applied instead; `not-refunded` if a refund failed. */
  readonly policy: 'allow' | 'deny' | 'local' | 'not-refunded';
  /** Error of Redis or of the open circuit breaker. */
  readonly error?: unknown;
}

/** Event of the circuit breaker. `opened`: Redis is no longer called. `closed`: Redis is called again. */
export interface RateLimitBreakerEvent {
  readonly state: 'opened' | 'closed';
}

/** Event of a request that has no subject under a rule. It shares one counter with all such requests, or is refused. */
export interface RateLimitUnknownSubjectEvent {
  /** Nest's name of the kind of context: `http`, `rpc`, `ws`, `graphql` or another. */
  readonly context: string;
  /** Name of the rule. */
  readonly rule: string;
}

/** Names of the `node:diagnostics_channel` channels that the lib publishes to. No event carries a subject. */
export const RATE_LIMIT_CHANNELS = Object.freeze({
  requestAllowed: 'luanest:rate-limit:request.allowed',
  requestRefused: 'luanest:rate-limit:request.refused',
  redisFailed: 'luanest:rate-limit:redis.failed',
  breakerChanged: 'luanest:rate-limit:breaker.changed',
  subjectUnknown: 'luanest:rate-limit:subject.unknown',
});

interface Events {
  requestAllowed: RateLimitDecidedEvent;
  requestRefused: RateLimitDecidedEvent;
  redisFailed: RateLimitFailedEvent;
  breakerChanged: RateLimitBreakerEvent;
  subjectUnknown: RateLimitUnknownSubjectEvent;
}

/** Channels of this lib, by the names in RATE_LIMIT_CHANNELS. */
export const events = eventChannels<Events>(RATE_LIMIT_CHANNELS);
