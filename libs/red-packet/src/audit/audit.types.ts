import type { ActivityState } from '../red-packet.types';

/** Options of an audit. */
export interface AuditOptions {
  /** true counts every record and compares the sums with the counters. Default false. */
  readonly deep?: boolean;
  /** Packets of this activity that the ledger has paid, in any order; implies `deep`. Default: none. */
  readonly ledger?: AsyncIterable<PaidPacket> | Iterable<PaidPacket>;
}

/** A packet, its amount and its user, as a payout row or the ledger has it. */
export interface PaidPacket {
  readonly userId: string;
  readonly packetId: string;
  readonly amountCents: number;
}

/** A number of packets and their sum. */
export interface Amount {
  readonly packets: number;
  readonly cents: number;
}

/** Counters of one bucket at one instant: pool + granted + refunded + sent - received = allotted. */
export interface BucketBooks {
  readonly bucket: number;
  readonly allotted: Amount;
  readonly pool: Amount;
  readonly granted: Amount;
  readonly refunded: Amount;
  readonly sent: Amount;
  readonly received: Amount;
}

/** Counts of a deep audit. */
export interface DeepBooks {
  /**
   * True if nothing changed during the count. Counts and counters are compared only then: pause the activity for a deep audit.
   */
  readonly quiet: boolean;
  readonly granted: Amount;
  readonly pool: Amount;
  readonly refunded: Amount;
  /** Packets that are moving between buckets. */
  readonly moving: Amount;
  /** Grants that are void because the ledger had paid the packet to another user. */
  readonly voided: Amount;
  /** Payout rows that are not settled. */
  readonly outboxRows: number;
  /** Packets that the ledger has paid; 0 without `ledger`. */
  readonly paid: Amount;
  /** Dead-lettered payouts; 0 without `StreamConsumerModule`. */
  readonly deadLetters: number;
  /**
   * Packets that the ledger has paid, but whose grants Redis has lost, as after a failover; the first 100. Grants that were
   * lost before the ledger paid them cannot be detected.
   */
  readonly rewound: readonly PaidPacket[];
}

/** Result of an audit. */
export interface AuditReport {
  readonly activityId: string;
  /** True if there are no problems. */
  readonly ok: boolean;
  /** Descriptions of the differences; the first 100. */
  readonly problems: readonly string[];
  readonly state: ActivityState;
  readonly total: Amount;
  /** Sent less received, over all buckets. Buckets are read one after another, so it may be inexact while packets move. */
  readonly moving: Amount;
  readonly buckets: readonly BucketBooks[];
  /** Counts of all records; left out without `deep` and `ledger`, and for a draft. */
  readonly deep?: DeepBooks;
}
