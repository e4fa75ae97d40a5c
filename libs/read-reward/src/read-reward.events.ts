import { eventChannels } from '../../internal/src';
import type { RecordStatus, RefundStatus } from './read-reward.types';

/** A read was recorded, or found to count already or to be too much. */
export interface ReadRecordedEvent {
  readonly rule: string;
  readonly status: RecordStatus;
  /** Points that were granted. */
  readonly points: number;
}

/** A refund was asked for. */
export interface GrantRefundedEvent {
  readonly rule: string;
  readonly status: RefundStatus;
  /** Points that were taken back. */
  readonly points: number;
}

/** Redis' clock was in none of the periods that were sent, so a call was sent again with the right ones. */
export interface PeriodMissedEvent {
  readonly rule: string;
  /** Redis' clock less this process' clock, ms. */
  readonly skewMs: number;
}

/** Names of the `node:diagnostics_channel` channels that the service publishes to. No event names a user or an item. */
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

/** Where this lib tells what happens. */
export const events = eventChannels<Events>(READ_REWARD_CHANNELS);
