import { eventChannels } from '../../internal/src';
import type { RecordStatus, RefundStatus } from './read-reward.types';

/** A call of `record` got its result: rewarded, duplicate or capped. */
export interface ReadRecordedEvent {
  readonly rule: string;
  readonly status: RecordStatus;
  /** Points that were granted. */
  readonly points: number;
}

/** A call of `refund` got its result, also if nothing was refunded. */
export interface GrantRefundedEvent {
  readonly rule: string;
  readonly status: RefundStatus;
  /** Points that were refunded. */
  readonly points: number;
}

/** Redis' clock was in none of the periods that were sent, so the call is sent again with other periods. */
export interface PeriodMissedEvent {
  readonly rule: string;
  /** Redis' clock minus this process's clock, ms. */
  readonly skewMs: number;
}

/** Names of this lib's channels on `node:diagnostics_channel`. No event has a user or an item. */
export const READ_REWARD_CHANNELS = Object.freeze({
  readRecorded: 'luanest:read-reward:read.recorded',
  grantRefunded: 'luanest:read-reward:grant.refunded',
  periodMissed: 'luanest:read-reward:period.missed',
});

interface Events {
  readRecorded: ReadRecordedEvent;
  grantRefunded: GrantRefundedEvent;
  periodMissed: PeriodMissedEvent;
}

/** Publishes the events of this lib. */
export const events = eventChannels<Events>(READ_REWARD_CHANNELS);
