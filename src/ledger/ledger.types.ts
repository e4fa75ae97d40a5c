import type { Packet, Payout } from 'luanest/red-packet';

/** A packet that the ledger has paid. */
export type PaidPacket = Pick<Payout, 'userId' | 'packetId' | 'amountCents'>;

/**
 * Fields of a payout that the ledger needs. An activity id may be used again after Redis has forgotten the activity, so the
 * ledger is keyed by `activityKey`, which is `<encoded id>@<expiresAtMs>`.
 */
export type PayoutRow = Pick<
  Payout,
  'activityKey' | 'activityId' | 'userId' | 'packetId' | 'amountCents' | 'grantedAtMs'
>;

/** Funding and refund of an activity in the ledger; money in integer cents. */
export interface ActivityRow {
  readonly activityKey: string;
  readonly activityId: string;
  readonly fundedCents: number;
  readonly refundedCents: number;
  /** Creation of the activity, ms since 1970, by Redis' clock. */
  readonly createdAtMs: number;
  /** End of the activity's retention, ms since 1970, by Redis' clock. */
  readonly expiresAtMs: number;
}

/** A payout that the ledger refused, because it has another payout of the packet or of the user with the same activity key. */
export interface Conflict {
  readonly row: PayoutRow;
  /** `packet`: the packet was paid to another user or with another amount. `user`: the user was paid another packet. */
  readonly reason: 'packet' | 'user';
  /** With `user`: the packet that the user was paid. */
  readonly paid?: Packet;
}

/** Result of a batch of payouts. `credited`, `repeated` and the number of `conflicts` add up to the rows of the batch. */
export interface CreditResult {
  /** Rows booked now. */
  readonly credited: number;
  /** Rows whose packet, user and amount were booked before, or earlier in the batch. */
  readonly repeated: number;
  /** Rows that contradict booked ones: recorded, never paid. */
  readonly conflicts: readonly Conflict[];
}

/** Entry of one activity key in the view `luanest.books`; integer cents. */
export interface LedgerBook {
  readonly fundedCents: number;
  readonly paidCents: number;
  readonly refundedCents: number;
  /** Cents that are neither paid nor refunded; negative if more was paid and refunded than funded. */
  readonly owedCents: number;
}

/** Totals of one activity key. */
export interface LedgerTotals {
  /** Payouts booked. */
  readonly rows: number;
  /** Different users paid. */
  readonly users: number;
  readonly cents: number;
  /** Payouts that were refused because they contradict booked ones. */
  readonly conflicts: number;
  /** Entry in `luanest.books`; null until the funding is written. */
  readonly book: LedgerBook | null;
}

/** Some payouts of an activity key, in the order of their packets' ids as text. */
export interface PaidPage {
  readonly payouts: readonly PaidPacket[];
  /** `after` of the next page; null at the end. */
  readonly next: string | null;
}

/** A user whose balance differs from what the ledger has paid them. Cents in decimal digits: a changed balance may exceed 2^53. */
export interface WrongAccount {
  readonly userId: string;
  /** Null if the user has no account. */
  readonly balanceCents: string | null;
  /** Sum of the user's payouts in all activities. */
  readonly paidCents: string;
}

/** Wrong accounts among the users of one page of payouts. */
export interface WrongAccountsPage {
  readonly wrong: readonly WrongAccount[];
  /** `after` of the next page; null at the end. */
  readonly next: string | null;
}

/** Books payouts. For an activity key, each packet and each user is paid at most once, however often the payouts are sent. */
export interface Ledger {
  /**
   * Books a batch in one transaction, which is committed when the promise resolves. The rows may be of several activities, in any
   * order, and may contain repetitions.
   *
   * @throws {Error} if the database fails: either nothing or everything was booked, and calling again is safe
   */
  credit(rows: readonly PayoutRow[]): Promise<CreditResult>;
  /**
   * Writes the funding and the refund of an activity key. The first funding and the largest refund are kept, so calls may be
   * repeated or late.
   */
  note(activity: ActivityRow): Promise<void>;
  /** Reads the totals of an activity key; zeros for an unknown one. */
  totals(activityKey: string): Promise<LedgerTotals>;
  /** Reads the cents that a user was paid, of all activities; 0 for an unknown user. */
  balance(userId: string): Promise<number>;
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
  /**
   * Compares the sum of all balances with the sum of all payouts. If they differ, returns the users whose balance differs from
   * their payouts, at most 20, else none. So it does not find cents that moved from one account to another.
   */
  wrongAccounts(): Promise<readonly WrongAccount[]>;
  /** Compares the balance of each user of a page of payouts with all payouts to the user. The parameters are those of `payouts`. */
  wrongAccountsOf(activityKey: string, after: string, limit: number): Promise<WrongAccountsPage>;
}
