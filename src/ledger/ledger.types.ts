import type { Packet, PaidPacket, Payout } from 'luanest/red-packet';

/** What the ledger has to know of a payout. */
export type PayoutRow = Pick<Payout, 'activityId' | 'userId' | 'packetId' | 'amountCents' | 'grantedAtMs'>;

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

/** What the ledger holds for one activity. */
export interface LedgerTotals {
  /** Payouts booked. */
  readonly rows: number;
  /** Different users paid. */
  readonly users: number;
  /** Cents paid. */
  readonly cents: number;
  /** Contradicting payouts on record. */
  readonly conflicts: number;
}

/** Some payouts of an activity, in the order of their packets' ids. */
export interface PaidPage {
  readonly payouts: readonly PaidPacket[];
  /** What to ask for the page after it by; null at the end. */
  readonly next: string | null;
}

/** Books payouts, each packet once and each user once per activity, whoever asks and however often. */
export interface Ledger {
  /**
   * Books a batch in one transaction, durable when the promise resolves. Rows of any activities, in any order, with
   * repetitions.
   *
   * @throws {Error} when the database fails; nothing or everything was booked then, and calling again is safe
   */
  credit(rows: readonly PayoutRow[]): Promise<CreditResult>;
  /** What is booked for an activity; zeros for one that the ledger never saw. */
  totals(activityId: string): Promise<LedgerTotals>;
  /** Cents on the user's account over all activities; 0 for a user that the ledger never saw. */
  balance(userId: string): Promise<number>;
  /** Frees what the ledger holds open. */
  close(): Promise<void>;
}

/** A ledger whose payouts can be read one by one. */
export interface ReadableLedger extends Ledger {
  /**
   * A page of what is booked for an activity.
   *
   * @param after `next` of the page before; '' for the first
   * @param limit most payouts of a page; integer >= 1
   */
  payouts(activityId: string, after: string, limit: number): Promise<PaidPage>;
}
