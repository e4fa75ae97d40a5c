import type { Packet, PaidPacket, Payout } from 'luanest/red-packet';

/** What the ledger has to know of a payout. */
export type PayoutRow = Pick<
  Payout,
  'activityKey' | 'activityId' | 'userId' | 'packetId' | 'amountCents' | 'grantedAtMs'
>;

/** What the ledger keeps of an activity besides its payouts; money in integer cents. */
export interface ActivityRow {
  readonly activityKey: string;
  readonly activityId: string;
  /** What was paid in. */
  readonly fundedCents: number;
  /** What has come back so far. */
  readonly refundedCents: number;
  /** When this life began and when Redis forgets it, ms since the epoch, by Redis' clock. */
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

/** A payout that the ledger refused, because the packet or the user had already been paid otherwise. */
export interface Conflict {
  /** The row that was refused. */
  readonly row: PayoutRow;
  /** `packet`: the packet was paid to another user or with another amount. `user`: the user was paid another packet. */
  readonly reason: 'packet' | 'user';
  /** With `user`: what the user was paid. */
  readonly paid?: Packet;
}

/** What became of a batch of payouts; the three parts add up to the rows that were handed in. */
export interface CreditResult {
  /** Rows booked now. */
  readonly credited: number;
  /** Rows that had been booked before, exactly so. */
  readonly repeated: number;
  /** Rows that contradict what is booked; recorded, never paid. */
  readonly conflicts: readonly Conflict[];
}

/** What the ledger holds for one life of an activity. */
export interface LedgerTotals {
  /** Payouts booked. */
  readonly rows: number;
  /** Different users paid. */
  readonly users: number;
  /** Cents paid. */
  readonly cents: number;
  /** Contradicting payouts on record. */
  readonly conflicts: number;
  /** Cents that the activity was funded with; null until that is noted. */
  readonly fundedCents: number | null;
  /** Cents that came back. */
  readonly refundedCents: number;
}

/** Some payouts of an activity, in the order of their packets' ids. */
export interface PaidPage {
  readonly payouts: readonly PaidPacket[];
  /** What to ask for the page after it by; null at the end. */
  readonly next: string | null;
}

/** Books payouts, each packet once and each user once per life of an activity, whoever asks and however often. */
export interface Ledger {
  /**
   * Books a batch in one transaction, durable when the promise resolves. Rows of any activities, in any order, with
   * repetitions.
   *
   * @throws {Error} when the database fails; nothing or everything was booked then, and calling again is safe
   */
  credit(rows: readonly PayoutRow[]): Promise<CreditResult>;
  /**
   * Notes what an activity was funded with and what has come back; harmless twice. Refunds only grow, so an older note
   * changes nothing.
   */
  note(activity: ActivityRow): Promise<void>;
  /** What is booked under an activity's key; zeros for one that the ledger never saw. */
  totals(activityKey: string): Promise<LedgerTotals>;
  /** Cents on the user's account over all activities; 0 for a user that the ledger never saw. */
  balance(userId: string): Promise<number>;
  /** Frees what the ledger holds open. */
  close(): Promise<void>;
}

/** A ledger whose payouts can be read one by one. */
export interface ReadableLedger extends Ledger {
  /**
   * A page of what is booked under an activity's key.
   *
   * @param after `next` of the page before; '' for the first
   * @param limit most payouts of a page; integer >= 1
   */
  payouts(activityKey: string, after: string, limit: number): Promise<PaidPage>;
}
