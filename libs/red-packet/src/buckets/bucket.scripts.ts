import { defineScript, int, list, str } from 'luanest/script-registry';
import { ALONE, FREES_MEMORY } from '../../../internal/src';
import { BUCKET_KEYS } from './bucket-keys';
import { confirmTransferLua, receivePacketsLua, sendPacketsLua, statusLua } from '../scripts/generated';

const FIGURES = [
  'createdAtMs',
  'startsAtMs',
  'endsAtMs',
  'expiresAtMs',
  'buckets',
  'totalCents',
  'packets',
  'allPackets',
  'heldCents',
  'refundedPackets',
  'refundedCents',
  'sentPackets',
  'sentCents',
  'receivedPackets',
  'receivedCents',
  'soldOutMs',
  'closedAtMs',
  'forgetAtMs',
] as const;

/** A bucket at one instant; cents and packets as its own counters and lists have them. */
export interface BucketReading extends Readonly<Record<(typeof FIGURES)[number], number>> {
  readonly state: 'draft' | 'preheated' | 'open' | 'paused' | 'ended' | 'closed' | `spread:${number}` | '';
  readonly pooled: number;
  /** -1 where the pool's entries make no sense. */
  readonly pooledCents: number;
  readonly granted: number;
  /** -1 where the grants are gone. */
  readonly grantedCents: number;
  readonly outboxLength: number;
  readonly refundRecords: number;
  /** Buckets that packets are on their way to. */
  readonly outgoing: readonly number[];
  /** Id of the last payout row; another one than before tells that somebody has won meanwhile. */
  readonly lastRow: string;
  /** Payouts that were given up. */
  readonly dead: number;
  /** Whether expiresAtMs has passed, by the clock of its Redis. */
  readonly overdue: boolean;
}

type BucketReply = [string, string, number, string, number, string, number, number, string, string, number, number];

export const readBucket = defineScript({
  name: 'red-packet.status',
  ...statusLua,
  keys: [...BUCKET_KEYS, 'dead'],
  args: {},
  flags: FREES_MEMORY,
  reply: (reply: BucketReply): BucketReading => {
    const [state, figures, pooled, pooledCents, granted, grantedCents, outboxLength, refundRecords] = reply;
    const [outgoing, lastRow, dead, overdue] = reply.slice(8) as [string, string, number, number];
    const values = figures.split(',').map(Number);
    return {
      ...(Object.fromEntries(FIGURES.map((name, i) => [name, values[i] ?? 0])) as Record<
        (typeof FIGURES)[number],
        number
      >),
      state: state as BucketReading['state'],
      pooled,
      pooledCents: Number(pooledCents),
      granted,
      grantedCents: Number(grantedCents),
      outboxLength,
      refundRecords,
      outgoing: outgoing === '' ? [] : outgoing.split(',').map(Number),
      lastRow,
      dead,
      overdue: overdue === 1,
    };
  },
});

/** Packets that have left a bucket and may not have arrived. */
export interface SentPackets {
  /** Numbers the transfer; a string, since it is only compared. */
  readonly sequence: string;
  /** `<packetId>:<cents>` */
  readonly packets: readonly string[];
}

/** Reads what a bucket keeps of a transfer. */
export function readSent(record: string): SentPackets {
  const at = record.indexOf('|');
  return { sequence: record.slice(0, at), packets: record.slice(at + 1).split(',') };
}

export const sendPackets = defineScript({
  name: 'red-packet.send-packets',
  ...sendPacketsLua,
  keys: ['meta', 'pool', 'moves'],
  args: { to: int, most: int, restMs: int },
  group: ALONE,
  reply: ([status, record]: string[]) => ({
    status: status as 'sent' | 'resting' | 'nothing',
    sent: status === 'sent' ? readSent(record ?? '') : undefined,
  }),
});

export const receivePackets = defineScript({
  name: 'red-packet.receive-packets',
  ...receivePacketsLua,
  keys: ['meta', 'pool', 'moves', 'refunds'],
  args: { from: int, sequence: str, packets: list(str) },
  flags: FREES_MEMORY,
  group: ALONE,
  reply: ([status]: string[]) => status as 'received' | 'received-before' | 'missing',
});

export const confirmTransfer = defineScript({
  name: 'red-packet.confirm-transfer',
  ...confirmTransferLua,
  keys: ['moves'],
  args: { to: int, sequence: str },
  flags: FREES_MEMORY,
  reply: (forgotten: number) => forgotten === 1,
});

/** What reads buckets and moves packets between them. */
export const bucketScripts = [readBucket, sendPackets, receivePackets, confirmTransfer];
