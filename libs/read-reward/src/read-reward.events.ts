import { channel } from 'node:diagnostics_channel';
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
  readRecorded: 'luanest:read-reward:read-recorded',
  grantRefunded: 'luanest:read-reward:grant-refunded',
  periodMissed: 'luanest:read-reward:period-missed',
});

const channels = {
  readRecorded: channel(READ_REWARD_CHANNELS.readRecorded),
  grantRefunded: channel(READ_REWARD_CHANNELS.grantRefunded),
  periodMissed: channel(READ_REWARD_CHANNELS.periodMissed),
};

interface Events {
  readRecorded: ReadRecordedEvent;
  grantRefunded: GrantRefundedEvent;
  periodMissed: PeriodMissedEvent;
}

/** Whether anybody listens to an event. */
export function hears(event: keyof Events): boolean {
  return channels[event].hasSubscribers;
}

/** Publishes an event; `make` runs only when someone listens. */
export function publish<E extends keyof Events>(event: E, make: () => Events[E]): void {
  if (channels[event].hasSubscribers) channels[event].publish(make());
}
