import { eventChannels } from '../../internal/src';
import type { RateLimitDecision } from './rate-limit.types';

/** A request was decided. Subjects are left out: they may be addresses or keys. */
export interface RateLimitDecidedEvent {
  /** Names of the rules that were asked. */
  readonly rules: readonly string[];
  /** Names of those that refuse, shadow rules among them. */
  readonly violated: readonly string[];
  /** Who decided. */
  readonly source: RateLimitDecision['source'];
  /** Until the request may pass, ms; 0 if it passes, Infinity if it costs more than a rule ever takes. */
  readonly retryAfterMs: number;
}

/** Redis did not decide a request. */
export interface RateLimitFailedEvent {
  readonly rules: readonly string[];
  /** What is done instead; `not-refunded` where hits could not be given back. */
  readonly policy: 'allow' | 'deny' | 'local' | 'not-refunded';
  readonly error: Error;
}

/** Redis is no longer asked (`opened`), or is asked again (`closed`). */
export interface RateLimitBreakerEvent {
  readonly state: 'opened' | 'closed';
}

/** A request has no subject under a rule: it is counted with all others of that kind, or refused. */
export interface RateLimitUnknownSubjectEvent {
  /** Nest's name of the context: `http`, `rpc`, `ws`, `graphql` or another. */
  readonly context: string;
  readonly rule: string;
}

/** Names of the `node:diagnostics_channel` channels that the lib publishes to. No event carries a subject. */
export const RATE_LIMIT_CHANNELS = Object.freeze({
  allowed: 'luanest:rate-limit:allowed',
  refused: 'luanest:rate-limit:refused',
  failed: 'luanest:rate-limit:failed',
  breaker: 'luanest:rate-limit:breaker',
  unknownSubject: 'luanest:rate-limit:unknown-subject',
});

interface Events {
  allowed: RateLimitDecidedEvent;
  refused: RateLimitDecidedEvent;
  failed: RateLimitFailedEvent;
  breaker: RateLimitBreakerEvent;
  unknownSubject: RateLimitUnknownSubjectEvent;
}

/** Where this lib tells what happens. */
export const events = eventChannels<Events>(RATE_LIMIT_CHANNELS);
