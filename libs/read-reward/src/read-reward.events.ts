import { eventChannels } from '../../internal/src';
import type { RecordStatus, RefundStatus } from './read-reward.types';

/** A call of `record` returned `rewarded`, `duplicate` or `capped`. */
export interface ReadRecordedEvent {
  readonly rule: string;
  readonly status: RecordStatus;
  /** Points that were granted; the points of the first result if the call was repeated. */
  readonly points: number;
}

/** A call of `refund` returned, also if nothing was refunded. */
export interface GrantRefundedEvent {
  readonly rule: string;
  readonly status: RefundStatus;
  /** Points that were refunded; 0 unless the status is `refunded`. */
  readonly points: number;
}

/** Redis' clock was in none of the periods that a call sent, so the call is sent again with other periods. */
export interface PeriodMissedEvent {
  readonly rule: string;
  /** Redis' clock minus this process' clock, ms. */
  readonly skewMs: number;
}

/** Names of this lib's channels on `node:diagnostics_channel`. No event contains the id of a user or an item. */
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
