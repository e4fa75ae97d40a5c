import type { ActivityState } from '../red-packet.types';

/** Options of an audit. */
export interface AuditOptions {
  /** true: reads every record and compares the sums with the counters. Default false. */
  readonly deep?: boolean;
  /**
   * Packets of this activity that the ledger has paid, in any order; implies `deep`. Default: for a deep audit, those that the option
   * `ledger` of the module returns; otherwise none.
   */
  readonly ledger?: PaidPackets;
}

/** A packet that was paid to a user, or must be paid. */
export interface PaidPacket {
  readonly userId: string;
  readonly packetId: string;
  readonly amountCents: number;
}

/** Packets that a ledger has paid. */
export type PaidPackets = AsyncIterable<PaidPacket> | Iterable<PaidPacket>;

/**
 * Returns the packets of an activity that the ledger has paid.
 *
 * @param activity the activity; its `activityKey` is the same as in its payouts
 */
export type Ledger = (activity: {
  readonly activityId: string;
  readonly activityKey: string;
}) => PaidPackets | Promise<PaidPackets>;

/** A number of packets and their sum. */
export interface Amount {
  readonly packets: number;
  readonly cents: number;
}

/**
 * Packets and cents of one bucket (shard) of an activity at one instant. The audit checks that pool + granted + refunded + sent -
 * received = allotted.
 */
export interface BucketBooks {
  /** Index of the bucket, from 0. */
  readonly bucket: number;
  /** Packets that the bucket got when the activity was created. */
  readonly allotted: Amount;
  /** Packets that are left in the bucket. */
  readonly pool: Amount;
  readonly granted: Amount;
  readonly refunded: Amount;
  /** Packets that the bucket has sent to other buckets. */
  readonly sent: Amount;
  /** Packets that the bucket has received from other buckets. */
  readonly received: Amount;
}

/** Counts of a deep audit. */
export interface DeepBooks {
  /**
   * True if nothing changed during the count. Only then are the counts compared with the counters. Pause the activity before a
   * deep audit, so that nobody wins meanwhile.
   */
  readonly quiet: boolean;
  readonly granted: Amount;
  readonly pool: Amount;
  readonly refunded: Amount;
  /** Packets that are moving between buckets. */
  readonly moving: Amount;
  /** Packets of grants that were voided because the ledger had paid the packet to another user. */
  readonly voided: Amount;
  /** Number of payout rows in the outboxes: payouts that are neither settled nor dead-lettered. */
  readonly outboxRows: number;
  /** Packets that the ledger has paid; 0 without `ledger`. */
  readonly paid: Amount;
  /** Number of dead-lettered payouts. */
  readonly deadLetters: number;
  /**
   * Packets that the ledger has paid to a user who has no grant of this packet in Redis; the first 100. For example, a failover has
   * lost the grant. A packet that `conflict` has copied from the ledger (`paid`) does not count as a grant. An audit cannot detect
   * grants that Redis lost before the ledger paid them.
   */
  readonly rewound: readonly PaidPacket[];
  /**
   * Winners who will not be paid, because their payout rows are lost; the first 100. For example, another program has deleted the rows
   * from the outbox. Empty without `ledger`, and if `quiet` is false. `RedPacketService.repairPayouts` writes the rows again.
   */
  readonly unpaid: readonly PaidPacket[];
}

/** Result of `RedPacketService.repairPayouts`. */
export interface RepairResult {
  /**
   * `busy`: the call changed nothing, because grants or payouts changed during each of three counts. Pause the activity, and call
   * again. `unclear`: the call changed nothing, because there are more winners without a payout than lost payout rows. Either an
   * operator has dropped payouts, or the ledger is incomplete. Pass a `ledger` that also has the payouts that were paid by other
   * means.
   */
  readonly status: 'repaired' | 'busy' | 'unclear';
  /** Number of payouts that are open again. */
  readonly requeued: number;
}

/** Result of an audit. */
export interface AuditResult {
  readonly activityId: string;
  /** True if there are no problems. */
  readonly ok: boolean;
  /** Descriptions of what is wrong; the first 100, then one line with the number of the others. */
  readonly problems: readonly string[];
  readonly state: ActivityState;
  readonly total: Amount;
  /**
   * Packets that are moving between buckets: sent - received, for all buckets together. Inexact while packets move, because buckets
   * are not read at the same instant.
   */
  readonly moving: Amount;
  readonly buckets: readonly BucketBooks[];
  /** Counts of all records. Left out for a draft, and if neither `deep` nor `ledger` was given. */
  readonly deep?: DeepBooks;
}
