import type { Packet, PaidPacket, Payout } from 'luanest/red-packet';

/** Fields of a payout that the ledger needs. */
export type PayoutRow = Pick<
  Payout,
  'activityKey' | 'activityId' | 'userId' | 'packetId' | 'amountCents' | 'grantedAtMs'
>;

/** Funding and refund of an activity in the ledger; money in integer cents. */
export interface ActivityRow {
  readonly activityKey: string;
  readonly activityId: string;
  /** Cents that the activity was funded with. */
  readonly fundedCents: number;
  /** Cents refunded so far. */
  readonly refundedCents: number;
  /** When this life began and when Redis forgets it, ms since the epoch, by Redis' clock. */
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

/** A payout that the ledger refused, because the packet or the user was paid already in another way. */
export interface Conflict {
  /** The row that was refused. */
  readonly row: PayoutRow;
  /** `packet`: the packet was paid to another user or with another amount. `user`: the user was paid another packet. */
  readonly reason: 'packet' | 'user';
  /** With `user`: the packet that the user was paid. */
  readonly paid?: Packet;
}

/** Result of a batch of payouts. The three parts add up to the rows of the batch. */
export interface CreditResult {
  /** Rows booked now. */
  readonly credited: number;
  /** Rows that were booked before, with the same values. */
  readonly repeated: number;
  /** Rows that contradict booked ones: recorded, never paid. */
  readonly conflicts: readonly Conflict[];
}

/** Entry of one life of an activity in the view `luanest.books`; integer cents. */
export interface LedgerBook {
  /** Cents that the activity was funded with. */
  readonly fundedCents: number;
  /** Cents paid to users. */
  readonly paidCents: number;
  /** Cents refunded so far. */
  readonly refundedCents: number;
  /** Cents that are neither paid nor refunded; negative if more was paid and refunded than funded. */
  readonly owedCents: number;
}

/** Totals of one life of an activity. */
export interface LedgerTotals {
  /** Payouts booked. */
  readonly rows: number;
  /** Different users paid. */
  readonly users: number;
  /** Cents paid. */
  readonly cents: number;
  /** Payouts that were refused because they contradict booked ones. */
  readonly conflicts: number;
  /** Entry in `luanest.books`; null until the funding is written. */
  readonly book: LedgerBook | null;
}

/** Some payouts of an activity, in the order of their packets' ids. */
export interface PaidPage {
  readonly payouts: readonly PaidPacket[];
  /** `after` of the next page; null at the end. */
  readonly next: string | null;
}

/** Books payouts: each packet once and each user once in a life of an activity, however often they are sent. */
export interface Ledger {
  /**
   * Books a batch in one transaction, durable when the promise resolves. Rows of any activities, in any order, with
   * repetitions.
   *
   * @throws {Error} when the database fails; nothing or everything was booked then, and calling again is safe
   */
  credit(rows: readonly PayoutRow[]): Promise<CreditResult>;
  /**
   * Writes the funding and the refund of an activity. Harmless twice: refunds only grow, so an older call changes nothing.
   */
  note(activity: ActivityRow): Promise<void>;
  /** Reads the totals of an activity key; zeros for an unknown one. */
  totals(activityKey: string): Promise<LedgerTotals>;
  /** Cents on the user's account over all activities; 0 for an unknown user. */
  balance(userId: string): Promise<number>;
  /** Closes the database. */
  close(): Promise<void>;
}

/** A ledger whose payouts can be read one by one. */
export interface ReadableLedger extends Ledger {
  /**
   * Reads a page of the payouts of an activity key.
   *
   * @param after `next` of the previous page; '' for the first
   * @param limit most payouts of a page; integer >= 1
   */
  payouts(activityKey: string, after: string, limit: number): Promise<PaidPage>;
}
