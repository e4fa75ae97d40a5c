import type { ActivityState } from '../red-packet.types';

/** What an audit compares. */
export interface AuditOptions {
  /** Whether every record is counted, page by page, instead of believing the counters. Default false. */
  readonly deep?: boolean;
  /** What the ledger has paid of this activity, in any order; makes the audit a deep one. */
  readonly ledger?: AsyncIterable<PaidPacket> | Iterable<PaidPacket>;
}

/** A packet that was paid to a user, or was to be. */
export interface PaidPacket {
  readonly userId: string;
  readonly packetId: string;
  readonly amountCents: number;
}

/** Packets and their money. */
export interface Amount {
  readonly packets: number;
  readonly cents: number;
}

/** The books of one bucket at one instant: pool + granted + refunded + sent - received = allotted. */
export interface BucketBooks {
  readonly bucket: number;
  readonly allotted: Amount;
  readonly pool: Amount;
  readonly granted: Amount;
  readonly refunded: Amount;
  readonly sent: Amount;
  readonly received: Amount;
}

/** What a deep audit counted. */
export interface DeepBooks {
  /** Whether nothing changed meanwhile; only then are counts and counters compared. Pause the activity to have it so. */
  readonly quiet: boolean;
  readonly granted: Amount;
  readonly pool: Amount;
  readonly refunded: Amount;
  /** On their way between buckets. */
  readonly moving: Amount;
  /** Granted packets that the ledger had paid to another user before. */
  readonly voided: Amount;
  /** Payout rows that are not settled. */
  readonly outboxRows: number;
  /** Packets that the ledger has paid; 0 without a ledger. */
  readonly paid: Amount;
  /** Payouts that were given up and wait for a person; 0 without `StreamConsumerModule`. */
  readonly deadLetters: number;
  /**
   * What the ledger has paid and Redis knows nothing of: grants that a failover has lost; the first 100. Grants that were
   * lost before the ledger saw them cannot be detected.
   */
  readonly rewound: readonly PaidPacket[];
}

/** What an audit found. */
export interface AuditReport {
  readonly activityId: string;
  readonly ok: boolean;
  /** What does not add up, in words; the first 100. */
  readonly problems: readonly string[];
  readonly state: ActivityState;
  readonly total: Amount;
  /** Sent less received, over all buckets; bucket after bucket was read, so it may be off while packets move. */
  readonly moving: Amount;
  readonly buckets: readonly BucketBooks[];
  readonly deep?: DeepBooks;
}
