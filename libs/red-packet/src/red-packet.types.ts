/** How a total is split into packets. */
export type SplitMethod = 'double-mean' | 'line-cut' | 'equal' | 'given';

/** What `RedPacketService.create` is asked for. All money is in integer cents. */
export interface CreateActivity {
  /** Names the activity; 1 to 128 characters. Creating the same id with the same figures again resumes or replays. */
  readonly activityId: string;
  /** Money to hand out, in cents; integer, 1 to 2^53 - 1, to 2^46 with more than one bucket. */
  readonly totalCents: number;
  /** Number of packets; integer, 1 to 1,000,000. */
  readonly packets: number;
  /** Smallest packet, in cents; integer >= 1. Default 1. */
  readonly minCents?: number;
  /** Largest packet, in cents; integer >= minCents. Default: no cap but the total. */
  readonly maxCents?: number;
  /** How the total is split; `given` needs `amounts`. Default `double-mean`, or `given` where amounts are. */
  readonly split?: SplitMethod;
  /** Cents of each packet, in the order of the grabs; must agree with the other figures. */
  readonly amounts?: readonly number[];
  /** Seed of the split, 32 hex digits: the same seed and figures give the same packets. Default: a random one. */
  readonly seed?: string;
  /** When grabs begin, ms since the epoch by Redis' clock; integer >= 0. Default: as soon as the pool is complete. */
  readonly startsAtMs?: number;
  /**
   * When grabs end, likewise; after `startsAtMs` and not over. Default: the retention after the activity opens, less an
   * hour, or less half of the retention where that is shorter.
   */
  readonly endsAtMs?: number;
  /** Grabs without a packet that a user may make; integer >= 0, 0 for any number. Default 0. */
  readonly maxTries?: number;
  /** Slots that the activity is spread over; integer of 1 to 64, at most `packets`. Default 1. */
  readonly buckets?: number;
}

/** An activity as `create` left it. */
export interface CreatedActivity {
  readonly activityId: string;
  readonly totalCents: number;
  readonly packets: number;
  /** false when this call found the activity open already, made by an earlier call with the same figures. */
  readonly created: boolean;
}

/** A packet in a user's hands. */
export interface Packet {
  readonly packetId: string;
  readonly amountCents: number;
  /** When it was won, ms since the epoch, by Redis' clock. */
  readonly grantedAtMs: number;
}

/** Why an activity takes no grabs: it was never made or has been forgotten, or where it stands in its life. */
export type NotOpenReason = 'unknown' | 'draft' | 'preheated' | 'paused' | 'ended' | 'closed';

/**
 * The answer to a grab. `code` keeps the values that clients of this kind of script know:
 * "0" won now, "1" won by an earlier call (the same packet again), "-1" none left, "-2" not open.
 * Further ones: "-3" packets are on their way to this user's bucket, "-4" the user's tries are used up, "-5" the app's
 * `eligibility` refused the user, "2" won, but too few replicas have it to say so: grab again.
 * `retryAfterMs` tells, where that is known, when another answer can be had.
 */
export type GrabResult =
  | { readonly code: '0'; readonly outcome: 'won'; readonly packet: Packet }
  | { readonly code: '1'; readonly outcome: 'already-won'; readonly packet: Packet }
  | { readonly code: '2'; readonly outcome: 'unconfirmed'; readonly reason: 'replicas'; readonly retryAfterMs: number }
  | { readonly code: '-1'; readonly outcome: 'sold-out'; readonly reason: 'sold-out' }
  | {
      readonly code: '-2';
      readonly outcome: 'not-open';
      readonly reason: NotOpenReason;
      readonly retryAfterMs?: number;
    }
  | {
      readonly code: '-3';
      readonly outcome: 'try-again';
      readonly reason: 'transferring';
      readonly retryAfterMs: number;
    }
  | { readonly code: '-4'; readonly outcome: 'too-many-tries'; readonly reason: 'too-many-tries' }
  | { readonly code: '-5'; readonly outcome: 'not-eligible'; readonly reason: 'not-eligible' };

/** Where an activity stands in its life, by Redis' clock. */
export type ActivityState = 'draft' | 'preheated' | 'open' | 'paused' | 'sold-out' | 'ended' | 'closed';

/** Where an activity stands: read at one instant with one bucket, else bucket after bucket. */
export interface ActivityStatus {
  readonly activityId: string;
  /**
   * Names this use of the id: another one when the id is used again after its retention. Payouts have the same in
   * `activityKey`, and ledgers book by it. Visible ASCII, up to 1,200 characters.
   */
  readonly activityKey: string;
  readonly state: ActivityState;
  readonly totalCents: number;
  readonly packets: number;
  readonly buckets: number;
  /** Packets and cents that nobody has: in pools, or between two of them. */
  readonly remainingPackets: number;
  readonly remainingCents: number;
  /** Packets and cents in users' hands. */
  readonly grantedPackets: number;
  readonly grantedCents: number;
  /** Packets and cents that closing has taken back. */
  readonly refundedPackets: number;
  readonly refundedCents: number;
  /** Packets and cents on their way between buckets. */
  readonly movingPackets: number;
  readonly movingCents: number;
  /** Payouts that are not settled; those that were given up are not among them. */
  readonly outboxLength: number;
  /** Payouts that were given up: their winners are not paid until they are replayed. */
  readonly deadPayouts: number;
  readonly createdAtMs: number;
  /** When grabs begin, ms since the epoch; 0 for at once. */
  readonly startsAtMs: number;
  /** When grabs end, ms since the epoch. */
  readonly endsAtMs: number;
  /** When Redis forgets the activity, ms since the epoch; later when it is not `settled` by then. */
  readonly expiresAtMs: number;
  /** Whether `expiresAtMs` has passed, by Redis' clock. */
  readonly overdue: boolean;
  /** Whether nothing is owed any more: it is closed, or ended with nothing left, and all payouts are settled. */
  readonly settled: boolean;
}

/** One grant, as records and payouts list it. */
export interface GrantRecord extends Packet {
  readonly userId: string;
}

/** A page of grants, in no particular order. */
export interface RecordsPage {
  /** A grant that is there from the first page to the last is on at least one page, and may be on two. */
  readonly items: readonly GrantRecord[];
  /** Pass it to read the next page; undefined after the last. */
  readonly nextCursor?: string;
}

/** A packet as the other winners see it: without the user's id. */
export interface ResultRow extends Packet {
  /** What the app's `participantName` returned for the user; left out without it. */
  readonly name?: string;
  /** Whether it is the viewer's. */
  readonly own: boolean;
  /** Whether it is the largest, the earliest of equal ones; false while somebody may still win. */
  readonly luckiest: boolean;
}

/** A page of the results of an activity, in no particular order. */
export interface ResultsPage {
  /** A packet may appear on two pages, and is left out of none. */
  readonly items: readonly ResultRow[];
  /** The viewer's packet. */
  readonly own: Packet;
  /** The largest packet, once all are gone or the activity is over. */
  readonly luckiest?: ResultRow;
  /** Pass it to the next call; left out on the last page. */
  readonly nextCursor?: string;
}

/** What `close` found or did. */
export interface ClosedActivity {
  readonly activityId: string;
  /** Whether this call closed it, or a part of it. */
  readonly closed: boolean;
  /** All that is refunded, by whichever call. */
  readonly refundedPackets: number;
  readonly refundedCents: number;
}

/** A payout that the ledger refused. */
export interface PayoutConflict {
  readonly userId: string;
  /** The packet that was not paid to this user. */
  readonly packetId: string;
  /**
   * What the ledger had paid this user of the activity. Leave it out where it had paid this packet to another user: then
   * the user gets another packet.
   */
  readonly paid?: Packet;
}

/** What became of a grant that the ledger would not pay. */
export interface VoidedGrant {
  /** false when the user has no such grant; true also when an earlier call has voided it. */
  readonly voided: boolean;
  /** What a grab by the user answers now. */
  readonly now: GrabResult;
}
