import type { Page } from '../../internal/src';

/**
 * Method by which a total is split into packets. `double-mean`: each packet is random, from the minimum to twice the mean of the money that
 * is left. `line-cut`: the total is cut at random points, like a line. On average, its largest packet is larger than with `double-mean`.
 * `equal`: packets differ by at most one cent. `given`: the parameter `amounts` has the cents of each packet.
 */
export type SplitMethod = 'double-mean' | 'line-cut' | 'equal' | 'given';

/** Parameters of an activity: a sum of money that users win in packets. All money is in integer cents. */
export interface CreateActivity {
  /** Id of the activity; 1 to 128 characters. */
  readonly activityId: string;
  /** Sum of all packets, in cents; integer from 1 to 2^53 - 1, or to 2^46 if there is more than one bucket. */
  readonly totalCents: number;
  /** Number of packets; integer from 1 to 1,000,000. */
  readonly packets: number;
  /** Smallest packet, in cents; integer >= 1. Default 1. */
  readonly minCents?: number;
  /** Largest packet, in cents; integer >= minCents. Default: the total. */
  readonly maxCents?: number;
  /** Method of the split; `given` needs `amounts`. Default: `given` if there are `amounts`, otherwise `double-mean`. */
  readonly split?: SplitMethod;
  /**
   * Cents of each packet. With one bucket, users win the packets in this order. There must be one amount for each of the `packets`,
   * from `minCents` to `maxCents`, and the sum must be `totalCents`.
   */
  readonly amounts?: readonly number[];
  /**
   * When grabs begin, ms since 1970 by Redis' clock; integer from 0 to the year 2100. Default 0: as soon as the activity is
   * created.
   */
  readonly startsAtMs?: number;
  /**
   * When grabs end, ms since 1970 by Redis' clock; integer up to the year 2100, after `startsAtMs` and in the future. Default (or 0):
   * grabs end one hour before the retention (`retentionMs` of the module) is over, which then counts from the start of grabs. If the
   * retention is less than two hours, grabs end after half of it.
   */
  readonly endsAtMs?: number;
  /** Number of times that a user may grab without winning; integer from 0 to 1,000,000. Default 0: no limit. */
  readonly maxTries?: number;
  /**
   * Number of buckets over which the activity is sharded, so that several masters of a Cluster share its load; integer from 1 to
   * 64, at most `packets`. Default 1.
   */
  readonly buckets?: number;
}

/** Result of `RedPacketService.create`. */
export interface CreateResult {
  readonly activityId: string;
  readonly totalCents: number;
  readonly packets: number;
  /** True if this call opened the activity; false if an earlier call with the same parameters did. */
  readonly created: boolean;
}

/** A packet that a user has won. */
export interface Packet {
  /** Number of the packet within the activity, from "1". */
  readonly packetId: string;
  readonly amountCents: number;
  /** When the user won the packet, ms since 1970 by Redis' clock. */
  readonly grantedAtMs: number;
}

/**
 * State in which an activity takes no grabs. `unknown`: Redis has no such activity, or has lost the user's bucket (shard of the
 * activity). `draft`: the creation of the activity is unfinished. `preheated`: grabs have not begun yet.
 */
export type NotOpenReason = 'unknown' | 'draft' | 'preheated' | 'paused' | 'ended' | 'closed';

/**
 * Result of a grab.
 *
 * - `won`: this call has won the packet.
 * - `already-won`: the user has won the packet before, or this call was sent twice.
 * - `unconfirmed`: the user has won a packet, but fewer than `replicas` replicas have confirmed it in time. Grab again to confirm and
 *   see it.
 * - `sold-out`: no packet is left. This process may have read this from Redis up to one second ago.
 * - `not-open`: the activity takes no grabs. `reason` is its state.
 * - `try-again`: the user's bucket is empty. Other buckets may have packets, but none was moved to this bucket within a second.
 * - `too-many-tries`: the user has grabbed `maxTries` times without winning.
 * - `not-eligible`: the option `eligibility` refused the user.
 *
 * `retryAfterMs`: time to wait before another grab, ms; missing if this time is not known.
 */
export type GrabResult =
  | { readonly status: 'won'; readonly packet: Packet }
  | { readonly status: 'already-won'; readonly packet: Packet }
  | { readonly status: 'unconfirmed'; readonly retryAfterMs: number }
  | { readonly status: 'sold-out' }
  | {
      readonly status: 'not-open';
      readonly reason: NotOpenReason;
      readonly retryAfterMs?: number;
    }
  | { readonly status: 'try-again'; readonly retryAfterMs: number }
  | { readonly status: 'too-many-tries' }
  | { readonly status: 'not-eligible' };

/**
 * State of an activity, by Redis' clock. `draft`: the creation is unfinished. `preheated`: grabs have not begun yet. `sold-out`: no
 * packet is left. `ended`: grabs have ended, but the activity is not closed yet. `closed`: packets that were left are refunded.
 */
export type ActivityState = 'draft' | 'preheated' | 'open' | 'paused' | 'sold-out' | 'ended' | 'closed';

/** State and counters of an activity. Each bucket is read at one instant, but not all buckets at the same instant. */
export interface ActivityStatus {
  readonly activityId: string;
  /**
   * Key of this activity for a ledger, the same as `Payout.activityKey`. If your app uses the id again after this activity has
   * expired, the new activity has another key. Visible ASCII, up to 1,200 characters.
   */
  readonly activityKey: string;
  readonly state: ActivityState;
  readonly totalCents: number;
  readonly packets: number;
  readonly buckets: number;
  /** Packets and cents that are neither won nor refunded, including those on the way between buckets. */
  readonly remainingPackets: number;
  readonly remainingCents: number;
  /** Packets and cents that users have won. */
  readonly grantedPackets: number;
  readonly grantedCents: number;
  /** Packets and cents that were refunded because the activity was closed, or by `RedPacketService.conflict`. */
  readonly refundedPackets: number;
  readonly refundedCents: number;
  /** Packets and cents on the way between buckets. */
  readonly movingPackets: number;
  readonly movingCents: number;
  /** Number of open payouts: not paid yet, and not dead-lettered. */
  readonly openPayouts: number;
  /** Number of dead-lettered payouts. No handler is called for them until they are replayed. */
  readonly deadLetters: number;
  /** Number of refunded packets that were not reported to `onClosed` yet; 0 if the activity was created without `onClosed`. */
  readonly unreportedPackets: number;
  /** When the activity was created, ms since 1970. */
  readonly createdAtMs: number;
  /** When grabs begin, ms since 1970; 0 if they began as soon as the activity was created. */
  readonly startsAtMs: number;
  /** When grabs end, ms since 1970. */
  readonly endsAtMs: number;
  /**
   * End of the retention, ms since 1970. Redis keeps the activity longer while it owes a payout or a refund, and up to a day after
   * that.
   */
  readonly expiresAtMs: number;
  /** True if `expiresAtMs` has passed. */
  readonly overdue: boolean;
  /** True once Redis will forget the activity, because it owes nothing, or after `RedPacketService.forget`. */
  readonly settled: boolean;
}

/** A grant: a packet and the user who has won it. */
export interface Grant extends Packet {
  readonly userId: string;
}

/** A packet as other winners see it, without the user's id. */
export interface ResultRow extends Packet {
  /** Name that the app's `participantName` returned for the user. Missing if there is no name. */
  readonly name?: string;
  /** True for the packet of the user who asks. */
  readonly own: boolean;
  /**
   * True for the largest packet; of equal packets, the one that was won first. False for all packets before the activity is
   * sold out, ended or closed.
   */
  readonly luckiest: boolean;
}

/**
 * A page of the results of an activity, in no particular order. A packet that was won before the first page is read is on at least one
 * page, and may be on several.
 */
export interface ResultsPage extends Page<ResultRow> {
  /** The packet of the user who asks. */
  readonly own: Packet;
  /** The largest packet; left out before the activity is sold out, ended or closed. */
  readonly luckiest?: ResultRow;
}

/** Result of `RedPacketService.close`. */
export interface CloseResult {
  readonly activityId: string;
  /** True if this call has closed the activity, or a bucket of it. */
  readonly closed: boolean;
  /** All packets and cents that were refunded so far, by this call, by earlier calls and by `conflict`. */
  readonly refundedPackets: number;
  readonly refundedCents: number;
}

/** A payout that your ledger refused, because it had already paid this packet or this user. */
export interface PayoutConflict {
  /**
   * `activityKey` of the payout. Set it if your app uses ids again: if Redis no longer has the activity of the payout, `conflict` then
   * leaves a newer activity with the same id alone. Default: the key of the activity that has the id now.
   */
  readonly activityKey?: string;
  readonly userId: string;
  /** The packet that the ledger did not pay to this user. */
  readonly packetId: string;
  /**
   * The packet of this activity that the ledger had already paid to this user. Leave `paid` out if the ledger had paid `packetId`
   * to another user, even if both are true. Then this user may win another packet.
   */
  readonly paid?: Packet;
}

/** Result of `RedPacketService.conflict`. */
export interface ConflictResult {
  /** True if the user no longer has the packet, because of this call or an earlier one; false if the user did not have it. */
  readonly voided: boolean;
  /**
   * Result of the grab that `conflict` has made for the user afterwards. `not-open` if Redis no longer has the activity of `activityKey`.
   */
  readonly now: GrabResult;
}
