import { defineScript, int, list, str } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../../internal/src';
import { BUCKET_KEYS } from './bucket-keys';
import { confirmTransferLua, receivePacketsLua, sendPacketsLua, statusLua } from '../scripts/generated';

/** Fields of a bucket's hash, in the order in which status.lua returns them. */
const META_FIELDS = [
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
  'compared',
] as const;

/** Values of a bucket (shard of an activity), read at one moment: counters, and lengths of lists and streams. */
export interface BucketReading extends Readonly<Record<(typeof META_FIELDS)[number], number>> {
  /** State by Redis' clock. `spread:<n>`: the key is the root of an open activity with n buckets. '': Redis has no such bucket. */
  readonly state: 'draft' | 'preheated' | 'open' | 'paused' | 'ended' | 'closed' | `spread:${number}` | '';
  readonly pooled: number;
  /** Cents of all packets in the pool, computed from the first and the last packet; -1 if one of these two is invalid. */
  readonly pooledCents: number;
  readonly granted: number;
  /** Cents granted; -1 if the grants hash is lost. */
  readonly grantedCents: number;
  /** Number of payouts that are neither paid nor dead-lettered, computed from counters. */
  readonly openPayouts: number;
  /** Number of packets in the list of refunds. */
  readonly refundRecords: number;
  /** Indexes of the buckets to which a transfer from this bucket is unfinished. Its packets may have arrived already. */
  readonly outgoing: readonly number[];
  /** When the last packet was granted, ms since 1970; '0' before the first grant; '' if Redis has lost the grants. */
  readonly lastGrant: string;
  readonly deadLetters: number;
  /** True if `expiresAtMs` has passed by the clock of this bucket's Redis. */
  readonly overdue: boolean;
  /** Number of refunded packets that were not reported to `onClosed` yet; 0 if the activity was created without `onClosed`. */
  readonly unreported: number;
}

type BucketReply = [string, string, number, string, number, string, number, number, ...BucketReplyEnd];
type BucketReplyEnd = [outgoing: string, lastGrant: string, deadLetters: number, overdue: number, unreported: number];

export const readBucket = defineScript({
  name: 'red-packet.status',
  ...statusLua,
  keys: BUCKET_KEYS,
  args: {},
  flags: FREES_MEMORY,
  group: false,
  reply: (reply: BucketReply): BucketReading => {
    const [state, meta, pooled, pooledCents, granted, grantedCents, openPayouts, refundRecords] = reply;
    const [outgoing, lastGrant, deadLetters, overdue, unreported] = reply.slice(8) as BucketReplyEnd;
    const values = meta.split(',').map(Number);
    return {
      ...(Object.fromEntries(META_FIELDS.map((name, i) => [name, values[i] ?? 0])) as Record<
        (typeof META_FIELDS)[number],
        number
      >),
      state: state as BucketReading['state'],
      pooled,
      pooledCents: Number(pooledCents),
      granted,
      grantedCents: Number(grantedCents),
      openPayouts,
      refundRecords,
      outgoing: outgoing === '' ? [] : outgoing.split(',').map(Number),
      lastGrant,
      deadLetters,
      overdue: overdue === 1,
      unreported,
    };
  },
});

/** Packets that have left a bucket, and may not have arrived in another one yet. */
export interface SentPackets {
  /** Number of the transfer, as text. Later transfers from the same bucket have higher numbers. */
  readonly sequence: string;
  /** Packets of the transfer, each `<packetId>:<cents>`. */
  readonly packets: readonly string[];
}

/** Packets that left a bucket in this call or an earlier one. */
export interface Sent extends SentPackets {
  /** `expiresAtMs` of the activity, as text. A later activity with the same id has another value, and must not receive the packets. */
  readonly expiresAtMs: string;
}

/** Parses the record of a transfer: `<sequence>|<packetId>:<cents>,...`. */
export function readSent(record: string): SentPackets {
  const at = record.indexOf('|');
  return { sequence: record.slice(0, at), packets: record.slice(at + 1).split(',') };
}

export const sendPackets = defineScript({
  name: 'red-packet.send-packets',
  ...sendPacketsLua,
  keys: ['meta', 'pool', 'moves'],
  args: { to: int, most: int, restMs: int },
  group: false,
  reply: ([status, record = '', expiresAtMs = '']: string[]) => ({
    status: status as 'sent' | 'resting' | 'nothing',
    sent: status === 'sent' ? { ...readSent(record), expiresAtMs } : undefined,
  }),
});

export const receivePackets = defineScript({
  name: 'red-packet.receive-packets',
  ...receivePacketsLua,
  keys: ['meta', 'pool', 'moves', 'refunds'],
  args: { from: int, sequence: str, expiresAtMs: str, packets: list(str) },
  flags: FREES_MEMORY,
  group: false,
  reply: ([status]: string[]) => status as 'received' | 'received-before' | 'missing',
});

export const confirmTransfer = defineScript({
  name: 'red-packet.confirm-transfer',
  ...confirmTransferLua,
  keys: ['moves'],
  args: { to: int, sequence: str },
  flags: FREES_MEMORY,
  group: false,
  reply: (forgotten: number) => forgotten === 1,
});

export const bucketScripts = [readBucket, sendPackets, receivePackets, confirmTransfer];
