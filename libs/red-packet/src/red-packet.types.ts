/** What `RedPacketService.create` is asked for. All money is in integer cents. */
export interface CreateActivity {
  /** Names the activity; 1 to 128 characters. Creating the same id with the same figures again resumes or replays. */
  readonly activityId: string;
  /** Money to hand out, in cents; integer, 1 to 2^53 - 1. */
  readonly totalCents: number;
  /** Number of packets; integer, 1 to 100,000. */
  readonly packets: number;
  /** Smallest packet, in cents; integer >= 1. Default 1. */
  readonly minCents?: number;
  /** Largest packet, in cents; integer >= minCents. Default: no cap but the total. */
  readonly maxCents?: number;
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

/**
 * The answer to a grab. `code` keeps the values that clients of this kind of script know:
 * "0" won now, "1" won by an earlier call (the same packet again), "-1" none left,
 * "-2" not open (no such activity, or still being filled).
 */
export type GrabResult =
  | { readonly code: '0'; readonly outcome: 'won'; readonly packet: Packet }
  | { readonly code: '1'; readonly outcome: 'already-won'; readonly packet: Packet }
  | { readonly code: '-1'; readonly outcome: 'sold-out' }
  | { readonly code: '-2'; readonly outcome: 'not-open' };

/** Where an activity stands, read at one instant by one script. */
export interface ActivityStatus {
  readonly activityId: string;
  readonly state: 'draft' | 'open';
  readonly totalCents: number;
  readonly packets: number;
  /** Packets and cents still in the pool. */
  readonly remainingPackets: number;
  readonly remainingCents: number;
  /** Packets and cents in users' hands. */
  readonly grantedPackets: number;
  readonly grantedCents: number;
  /** Payout rows written by grabs and not yet acknowledged by the payout worker. */
  readonly outboxLength: number;
  readonly createdAtMs: number;
  /** When Redis forgets the activity, ms since the epoch. */
  readonly expiresAtMs: number;
}

/** One grant, as records and payouts list it. */
export interface GrantRecord extends Packet {
  readonly userId: string;
}

/** A page of grants, in no particular order. */
export interface RecordsPage {
  readonly records: readonly GrantRecord[];
  /** Pass to the next call; null after the last page. A grant may appear on two pages, never on none. */
  readonly nextCursor: string | null;
}

/** A row of the payout outbox: pay `amountCents` to `userId`, once per (activityId, packetId). */
export interface PayoutRow extends GrantRecord {
  readonly activityId: string;
  /** The stream entry's id; hand it to `settle` after the money is booked. */
  readonly entryId: string;
}
