/** Method by which a total is split into packets. */
export type SplitMethod = 'double-mean' | 'line-cut' | 'equal' | 'given';

/** Parameters of an activity. All money is in integer cents. */
export interface CreateActivity {
  /** Id of the activity; 1 to 128 characters. Creating it again with the same parameters resumes or repeats the first call. */
  readonly activityId: string;
  /** Money to hand out, in cents; integer from 1 to 2^53 - 1, to 2^46 with more than one bucket. */
  readonly totalCents: number;
  /** Number of packets; integer from 1 to 1,000,000. */
  readonly packets: number;
  /** Smallest packet, in cents; integer >= 1. Default 1. */
  readonly minCents?: number;
  /** Largest packet, in cents; integer >= minCents. Default: the total. */
  readonly maxCents?: number;
  /** Method of the split; `given` needs `amounts`. Default `double-mean`, or `given` with `amounts`. */
  readonly split?: SplitMethod;
  /** Cents of each packet, in the order of the grabs; must agree with the other parameters. */
  readonly amounts?: readonly number[];
  /** Seed of the split, 32 lowercase hex digits: the same seed and parameters give the same packets. Default: random. */
  readonly seed?: string;
  /** When grabs begin, ms since 1970 by Redis' clock; integer >= 0. Default 0: as soon as the pool is complete. */
  readonly startsAtMs?: number;
  /**
   * When grabs end, ms since 1970 by Redis' clock; after `startsAtMs` and not past. Default: an hour before the retention
   * ends, which is counted from the opening; half the retention before, if that is shorter.
   */
  readonly endsAtMs?: number;
  /** Grabs without a packet that a user may make; integer from 0 to 1,000,000, 0 for any number. Default 0. */
  readonly maxTries?: number;
  /** Buckets that the activity is sharded over, each in a slot of its own; integer from 1 to 64, at most `packets`. Default 1. */
  readonly buckets?: number;
}

/** Result of `RedPacketService.create`. */
export interface CreatedActivity {
  readonly activityId: string;
  readonly totalCents: number;
  readonly packets: number;
  /** false if an earlier call with the same parameters had opened the activity. */
  readonly created: boolean;
}

/** A packet that a user has won. */
export interface Packet {
  /** Number of the packet within the activity, from "1". */
  readonly packetId: string;
  readonly amountCents: number;
  /** When it was won, ms since 1970 by Redis' clock. */
  readonly grantedAtMs: number;
}

/** Why an activity takes no grabs; `unknown`: there is no such activity, or Redis has forgotten it. */
export type NotOpenReason = 'unknown' | 'draft' | 'preheated' | 'paused' | 'ended' | 'closed';

/**
 * Result of a grab. `code` is the number of the outcome, for clients that expect the codes of a grab script: "0" for a win,
 * "1" for a repeated grab, "-1" for sold out, "-2" for an activity that is not open.
 *
 * - `won`: this call won the packet. `already-won`: an earlier call won this packet.
 * - `unconfirmed`: the packet is won, but fewer than `replicas` have it. Grab again.
 * - `sold-out`: no packet is left.
 * - `not-open`: the activity takes no grabs, for the reason given.
 * - `try-again`: packets are left, but none reached the user's bucket within `transferWaitMs`.
 * - `too-many-tries`: the user has used up `maxTries`.
 * - `not-eligible`: the app's `eligibility` refused the user.
 *
 * `retryAfterMs` is the time after which another outcome is possible, ms; it is left out if unknown.
 */
export type GrabResult =
  | { readonly code: '0'; readonly outcome: 'won'; readonly packet: Packet }
  | { readonly code: '1'; readonly outcome: 'already-won'; readonly packet: Packet }
  | { readonly code: '2'; readonly outcome: 'unconfirmed'; readonly retryAfterMs: number }
  | { readonly code: '-1'; readonly outcome: 'sold-out' }
  | {
      readonly code: '-2';
      readonly outcome: 'not-open';
      readonly reason: NotOpenReason;
      readonly retryAfterMs?: number;
    }
  | { readonly code: '-3'; readonly outcome: 'try-again'; readonly retryAfterMs: number }
  | { readonly code: '-4'; readonly outcome: 'too-many-tries' }
  | { readonly code: '-5'; readonly outcome: 'not-eligible' };

/** State of an activity, by Redis' clock. */
export type ActivityState = 'draft' | 'preheated' | 'open' | 'paused' | 'sold-out' | 'ended' | 'closed';

/** State and counters of an activity. One bucket is read at one instant, several are read one after another. */
export interface ActivityStatus {
  readonly activityId: string;
  /**
   * Key of this activity. A later activity with the same id has another key. `Payout.activityKey` is the same key: ledgers
   * book by it. Visible ASCII, up to 1,200 characters.
   */
  readonly activityKey: string;
  readonly state: ActivityState;
  readonly totalCents: number;
  readonly packets: number;
  readonly buckets: number;
  /** Packets and cents that nobody has won: in pools, or moving between buckets. */
  readonly remainingPackets: number;
  readonly remainingCents: number;
  /** Packets and cents that users have won. */
  readonly grantedPackets: number;
  readonly grantedCents: number;
  /** Packets and cents that were refunded, by closing or by `conflict`. */
  readonly refundedPackets: number;
  readonly refundedCents: number;
  /** Packets and cents that are moving between buckets. */
  readonly movingPackets: number;
  readonly movingCents: number;
  /** Payouts that are not settled, without those that are dead-lettered. */
  readonly outboxLength: number;
  /** Dead-lettered payouts: their winners are not paid until the payouts are replayed. */
  readonly deadLetters: number;
  /** When the activity was created, ms since 1970. */
  readonly createdAtMs: number;
  /** When grabs begin, ms since 1970; 0 for at once. */
  readonly startsAtMs: number;
  /** When grabs end, ms since 1970. */
  readonly endsAtMs: number;
  /** When Redis forgets the activity, ms since 1970; later if it is not `settled` by then. */
  readonly expiresAtMs: number;
  /** True if `expiresAtMs` has passed. */
  readonly overdue: boolean;
  /**
   * True if the TTL of all keys is set: by `settle()`, once the activity is closed or ended without packets and all payouts are
   * settled; or by `forget()`, even if payouts are owed.
   */
  readonly settled: boolean;
}

/** One grant: a packet and its winner. */
export interface GrantRecord extends Packet {
  readonly userId: string;
}

/** A page of grants, in no particular order. */
export interface RecordsPage {
  /** Grants. A grant that exists from the first page to the last is on one or two pages. */
  readonly items: readonly GrantRecord[];
  /** Cursor of the next page; left out on the last page. */
  readonly nextCursor?: string;
}

/** A packet as the other winners see it: without the user's id. */
export interface ResultRow extends Packet {
  /** Name that the app's `participantName` returned for the user; left out if there is none. */
  readonly name?: string;
  /** True for the packet of the user who asks. */
  readonly own: boolean;
  /** True for the largest packet, the earliest of equal ones; false for all while somebody may still win. */
  readonly luckiest: boolean;
}

/** A page of the results of an activity, in no particular order. */
export interface ResultsPage {
  /** Packets. Each is on one or two pages. */
  readonly items: readonly ResultRow[];
  /** The packet of the user who asks. */
  readonly own: Packet;
  /** The largest packet; left out while somebody may still win. */
  readonly luckiest?: ResultRow;
  /** Cursor of the next page; left out on the last page. */
  readonly nextCursor?: string;
}

/** Result of `RedPacketService.close`. */
export interface ClosedActivity {
  readonly activityId: string;
  /** True if this call closed the activity, or one of its buckets. */
  readonly closed: boolean;
  /** All packets and cents that were refunded, by this call or others. */
  readonly refundedPackets: number;
  readonly refundedCents: number;
}

/** A payout that the ledger refused. */
export interface PayoutConflict {
  readonly userId: string;
  /** The packet that the ledger did not pay to this user. */
  readonly packetId: string;
  /**
   * The packet of this activity that the ledger had already paid to this user. Leave it out if the ledger had paid `packetId`
   * to another user: then this user gets another packet.
   */
  readonly paid?: Packet;
}

/** Result of `RedPacketService.conflict`. */
export interface VoidedGrant {
  /** true if the grant is void, by this call or an earlier one; false if the user has no such grant. */
  readonly voided: boolean;
  /** Result of the grab that followed. */
  readonly now: GrabResult;
}
