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
 * @param activity id and key of the activity; its payouts have the same `activityKey`
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
 * Packets and cents of one bucket (shard of an activity) at one moment. Buckets send packets to each other. The audit checks that pool +
 * granted + refunded + sent to other buckets - received from them = allotted.
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

/** Numbers that a deep audit has counted. */
export interface DeepBooks {
  /**
   * True if nothing changed while the records were counted. Only then are they compared with the counters. Pause the activity before a deep
   * audit, so that nobody wins meanwhile.
   */
  readonly quiet: boolean;
  readonly granted: Amount;
  readonly pool: Amount;
  readonly refunded: Amount;
  /** Packets that are moving between buckets. */
  readonly moving: Amount;
  /** Packets that the ledger has paid, but no user has in Redis: the grant was voided, or the packet was taken out of the refunds. */
  readonly voided: Amount;
  /** Number of payouts that are neither paid nor dead-lettered. */
  readonly outboxRows: number;
  /** Packets that the ledger has paid; 0 without `ledger`. */
  readonly paid: Amount;
  /** Number of dead-lettered payouts. */
  readonly deadLetters: number;
  /**
   * Packets that the ledger has paid to a user who does not have them in Redis; the first 100. For example, a failover has lost a grant. A
   * grant that `conflict` has copied from the ledger does not count. An audit cannot detect grants that Redis lost before the ledger paid
   * them.
   */
  readonly rewound: readonly PaidPacket[];
  /**
   * Winners who will not be paid, because their payouts are lost; the first 100. For example, another program has deleted them from the
   * stream. Empty without `ledger`, and if `quiet` is false. `RedPacketService.repairPayouts` restores the payouts.
   */
  readonly unpaid: readonly PaidPacket[];
}

/** Result of `RedPacketService.repairPayouts`. */
export interface RepairResult {
  /**
   * `busy`: nothing was changed, because grants or payouts changed during each of three counts. Pause the activity, and call again.
   * `unclear`: nothing was changed, because more winners are unpaid than payouts are lost. Either an operator has dropped payouts, or the
   * ledger is incomplete. Pass a `ledger` that also has the payouts that were paid by other means.
   */
  readonly status: 'repaired' | 'busy' | 'unclear';
  /** Number of payouts that were restored, so that they will be paid. */
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
   * Packets on the way between buckets: sent - received, for all buckets together. Inexact while packets move, because the buckets are not
   * read at the same moment.
   */
  readonly moving: Amount;
  readonly buckets: readonly BucketBooks[];
  /** Numbers from a deep audit. Left out for a draft, and without `deep` and `ledger`. */
  readonly deep?: DeepBooks;
}
