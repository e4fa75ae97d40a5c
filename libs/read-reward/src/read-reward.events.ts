import { eventChannels } from '../../internal/src';
import type { RecordStatus, RefundStatus } from './read-reward.types';

/**
 * Events of this lib. `ReadRewardEvents['readRecorded']` is the type of an event;
 * the constant `ReadRewardEvents` has the names of their channels.
 */
export interface ReadRewardEvents {
  /** A call of `record` returned `rewarded`, `duplicate` or `capped`. */
  readonly readRecorded: {
    readonly rule: string;
    readonly status: RecordStatus;
    /** Points that were granted; for a repeat with the same operation id, the points of the first result. */
    readonly points: number;
  };

  /** A call of `refund` has returned, even if nothing was refunded. */
  readonly grantRefunded: {
    readonly rule: string;
    readonly status: RefundStatus;
    /** Points that were refunded; 0 unless the status is `refunded`. */
    readonly points: number;
  };

  /**
   * Redis' clock was outside the periods that this process has sent with a call. The process then computes the periods by Redis' clock, and
   * sends the call again, up to four times in all.
   */
  readonly periodMissed: {
    readonly rule: string;
    /** Estimated difference when the reply came: Redis' clock minus this process' clock, ms. */
    readonly skewMs: number;
  };
}

/**
 * Names of the `node:diagnostics_channel` channels of this lib: `ReadRewardEvents.readRecorded`, for example. No event contains the id
 * of a user or an item.
 */
export const ReadRewardEvents = Object.freeze({
  readRecorded: 'luanest:read-reward:read.recorded',
  grantRefunded: 'luanest:read-reward:grant.refunded',
  periodMissed: 'luanest:read-reward:period.missed',
});

export const events = eventChannels<ReadRewardEvents>(ReadRewardEvents);
