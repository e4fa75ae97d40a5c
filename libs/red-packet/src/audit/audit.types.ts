import type { ActivityState } from '../red-packet.types';

/** Options of an audit. */
export interface AuditOptions {
  /** true: reads every record and compares the sums with the counters. Default false. */
  readonly deep?: boolean;
  /** Packets of this activity that the ledger has paid, in any order; implies `deep`. Default: none. */
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
 * @param activity the activity; `activityKey` is that of its payouts
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
 * Packets and cents of one bucket (shard) of an activity at one instant. Their sum must be right: pool + granted + refunded +
 * sent - received = allotted.
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
   * Packets that the ledger has paid, but of which Redis has no grant to this user, for example because a failover has lost the grant;
   * the first 100. A copy that `conflict` took from the ledger is not a grant. An audit cannot detect grants that Redis lost before
   * the ledger paid them.
   */
  readonly rewound: readonly PaidPacket[];
  /**
   * Winners whom nobody will pay, because their payout rows are lost, for example because another program has deleted them from the
   * outbox; the first 100. Empty without `ledger`, and if `quiet` is false. `RedPacketService.repairPayouts` writes the rows again.
   */
  readonly unpaid: readonly PaidPacket[];
}

/** Result of `RedPacketService.repairPayouts`. */
export interface RepairResult {
  /**
   * `busy`: nothing was changed, because grants or payouts changed during each of three counts; pause the activity. `unclear`: nothing
   * was changed, because more winners are missing in the ledger than payout rows are lost. The others were dropped, or the ledger is
   * incomplete: pass a `ledger` that also has what was paid by other means.
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
  /** Sent - received, of all buckets together. Inexact while packets move, because buckets are not read at the same instant. */
  readonly moving: Amount;
  readonly buckets: readonly BucketBooks[];
  /** Counts of all records. Left out for a draft, and if neither `deep` nor `ledger` was given. */
  readonly deep?: DeepBooks;
}
