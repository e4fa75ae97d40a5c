import { common, defineScript, int, list, str } from 'luanest/script-registry';
import type { GrabResult, GrantRecord, NotOpenReason, Packet, PayoutRow } from './red-packet.types';
import {
  beginActivityLua,
  checkPermissionsLua,
  claimPayoutsLua,
  closeActivityLua,
  confirmTransferLua,
  fillPoolLua,
  grabLua,
  hashPageLua,
  indexActivityLua,
  listActivitiesLua,
  listPageLua,
  luckiestLua,
  openActivityLua,
  outboxPageLua,
  readGrantLua,
  receivePacketsLua,
  recordsLua,
  sendPacketsLua,
  setPauseLua,
  settlePayoutsLua,
  sharedCentsLua,
  sharedClockLua,
  sharedGrantingLua,
  statusLua,
  voidGrantLua,
} from './scripts/generated';

/** Work that grows with its arguments goes alone, so that no group holds Redis for long. */
const ALONE = { maxCalls: 1 };
/** A full Redis must still be drained: these scripts release memory, or need next to none. */
const RELEASES = ['allow-oom'] as const;
const ACTIVITY_KEYS = ['meta', 'pool', 'grants', 'outbox'] as const;
const CLOCK_AND_CENTS = sharedClockLua + sharedCentsLua;

/** Most packets that `fillPool` takes at once; `unpack` in Redis' Lua is safe for these. */
export const CHUNK_PACKETS = 1_000;

type Stored = 'draft' | 'open' | 'paused' | 'closed' | `spread:${number}`;

export const beginActivity = defineScript({
  name: 'red-packet.begin-activity',
  source: beginActivityLua,
  shared: sharedClockLua,
  keys: ACTIVITY_KEYS,
  args: {
    fingerprint: str,
    totalCents: int,
    packets: int,
    allPackets: int,
    buckets: int,
    bucket: int,
    startsAtMs: int,
    endsAtMs: int,
    maxTries: int,
    soldOutMs: int,
    retentionMs: int,
    expiresAtMs: int,
    seed: str,
  },
  reply: ([status, state, seed, expires]: string[]) => ({
    status: status as 'begun' | 'found' | 'conflict' | 'orphaned' | 'over',
    state: state as Stored,
    seed: seed ?? '',
    expiresAtMs: Number(expires),
  }),
});

export const fillPool = defineScript({
  name: 'red-packet.fill-pool',
  source: fillPoolLua,
  keys: ['meta', 'pool'],
  args: { offset: int, chunk: list(str) },
  group: ALONE,
  reply: ([status, length]: [string, number]) => ({ status: status as 'filled' | 'elsewhere' | 'closed', length }),
});

export const openActivity = defineScript({
  name: 'red-packet.open-activity',
  source: openActivityLua,
  shared: sharedCentsLua,
  keys: ACTIVITY_KEYS,
  args: { group: str },
  reply: ([status]: string[]) => status as 'opened' | 'open' | 'incomplete' | 'missing',
});

/** What a bucket says to a grab: a packet is the answer to the user already. */
export type BucketAnswer =
  | Extract<GrabResult, { readonly packet: Packet }>
  | { readonly outcome: 'none-left' | 'empty' | 'tries-used-up' }
  | { readonly outcome: 'shut'; readonly reason: NotOpenReason; readonly changesInMs: number }
  | { readonly outcome: 'spread'; readonly buckets: number };

/** Bits of the `mode` that a grab is sent with. */
export const GRAB_MODE = { confirmed: 1, goesOn: 2 } as const;
const WITHOUT_PACKET: Readonly<Record<number, BucketAnswer>> = {
  [-1]: { outcome: 'none-left' },
  [-3]: { outcome: 'empty' },
  [-4]: { outcome: 'tries-used-up' },
};

export const grabPacket = defineScript({
  name: 'red-packet.grab',
  source: grabLua,
  shared: sharedClockLua + sharedGrantingLua,
  keys: [...ACTIVITY_KEYS, 'tries'],
  args: { userId: str, mode: common(int) },
  timed: true,
  reply: ([code, text]: [number, string], nowUs: number): BucketAnswer => {
    const [word = '', figure, at] = text.split(':');
    if (code >= 0) {
      const amountCents = Number(figure);
      if (code === 0) {
        return {
          code: '0',
          outcome: 'won',
          packet: { packetId: word, amountCents, grantedAtMs: Math.floor(nowUs / 1_000) },
        };
      }
      return { code: '1', outcome: 'already-won', packet: { packetId: word, amountCents, grantedAtMs: Number(at) } };
    }
    const without = WITHOUT_PACKET[code];
    if (without !== undefined) return without;
    if (word === 'spread') return { outcome: 'spread', buckets: Number(figure) };
    return { outcome: 'shut', reason: word as NotOpenReason, changesInMs: Number(figure ?? 0) };
  },
});

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
}

export const readBucket = defineScript({
  name: 'red-packet.status',
  source: statusLua,
  shared: CLOCK_AND_CENTS,
  keys: [...ACTIVITY_KEYS, 'tries', 'moves', 'voids', 'refunds'],
  args: {},
  flags: RELEASES,
  reply: (reply: [string, string, number, string, number, string, number, number, string, string]): BucketReading => {
    const [state, figures, pooled, pooledCents, granted, grantedCents, outboxLength, refundRecords, outgoing, lastRow] =
      reply;
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
    };
  },
});

export const setPause = defineScript({
  name: 'red-packet.set-pause',
  source: setPauseLua,
  keys: ['meta'],
  args: { state: str },
  flags: RELEASES,
  reply: ([was, is]: string[]) => ({ was: was as Stored | '', is: is as Stored | '' }),
});

export const closeBucket = defineScript({
  name: 'red-packet.close-activity',
  source: closeActivityLua,
  shared: CLOCK_AND_CENTS,
  keys: ['meta', 'pool', 'refunds', 'grants'],
  args: {},
  flags: RELEASES,
  group: ALONE,
  reply: ([status]: string[]) => status as 'closed' | 'closed-before' | 'draft' | 'missing' | `spread:${number}`,
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
  source: sendPacketsLua,
  shared: CLOCK_AND_CENTS,
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
  source: receivePacketsLua,
  shared: CLOCK_AND_CENTS,
  keys: ['meta', 'pool', 'moves', 'refunds'],
  args: { from: int, sequence: str, packets: list(str) },
  flags: RELEASES,
  group: ALONE,
  reply: ([status]: string[]) => status as 'received' | 'received-before' | 'missing',
});

export const confirmTransfer = defineScript({
  name: 'red-packet.confirm-transfer',
  source: confirmTransferLua,
  keys: ['moves'],
  args: { to: int, sequence: str },
  flags: RELEASES,
  reply: (forgotten: number) => forgotten === 1,
});

export const voidGrant = defineScript({
  name: 'red-packet.void-grant',
  source: voidGrantLua,
  keys: ['meta', 'grants', 'voids', 'refunds'],
  args: { userId: str, packetId: str, paid: str },
  flags: RELEASES,
  reply: ([status]: string[]) => status as 'void' | 'void-before' | 'none',
});

export const readGrant = defineScript({
  name: 'red-packet.read-grant',
  source: readGrantLua,
  keys: ['grants'],
  args: { userId: str },
  flags: ['no-writes'],
  reply: ([grant = '']: string[]): { readonly packet: Packet | undefined; readonly byLedger: boolean } => {
    const [packetId = '', cents, at, byLedger] = grant.split(':');
    const packet = { packetId, amountCents: Number(cents), grantedAtMs: Number(at) };
    return { packet: packetId === '' ? undefined : packet, byLedger: byLedger !== undefined };
  },
});

export const readLuckiest = defineScript({
  name: 'red-packet.luckiest',
  source: luckiestLua,
  keys: ['meta'],
  args: {},
  flags: ['no-writes'],
  reply: ([userId = '', packetId = '', cents, at, lost]: string[]) => ({
    grant: { userId, packetId, amountCents: Number(cents), grantedAtMs: Number(at) },
    lost: lost === '1',
  }),
});

export const readListPage = defineScript({
  name: 'red-packet.list-page',
  source: listPageLua,
  keys: ['packets'],
  args: { from: int, count: int },
  flags: ['no-writes'],
  group: ALONE,
  reply: (entries: string[]) => entries,
});

export const readHashPage = defineScript({
  name: 'red-packet.hash-page',
  source: hashPageLua,
  keys: ['hash'],
  args: { cursor: str, count: int },
  flags: ['no-writes'],
  group: ALONE,
  reply: ([cursor = '0', ...pairs]: string[]) => {
    const fields: [string, string][] = [];
    for (let i = 0; i + 1 < pairs.length; i += 2) fields.push([pairs[i] as string, pairs[i + 1] as string]);
    return { cursor, fields };
  },
});

export const readOutboxPage = defineScript({
  name: 'red-packet.outbox-page',
  source: outboxPageLua,
  keys: ['outbox'],
  args: { after: str, count: int },
  flags: ['no-writes'],
  group: ALONE,
  reply: (fields: string[]) => {
    const rows: { entryId: string; userId: string; packetId: string; amountCents: number }[] = [];
    for (let i = 0; i + 3 < fields.length; i += 4) {
      const [entryId = '', userId = '', packetId = '', cents] = fields.slice(i, i + 4);
      rows.push({ entryId, userId, packetId, amountCents: Number(cents) });
    }
    return rows;
  },
});

export const readRecords = defineScript({
  name: 'red-packet.records',
  source: recordsLua,
  keys: ['grants'],
  args: { cursor: str, count: int },
  flags: ['no-writes'],
  group: ALONE,
  reply: ([cursor = '0', ...pairs]: string[]) => {
    const records: GrantRecord[] = [];
    for (let i = 0; i + 1 < pairs.length; i += 2) {
      const [packetId = '', cents, at] = (pairs[i + 1] ?? '').split(':');
      if (pairs[i] !== '')
        records.push({ userId: pairs[i] as string, packetId, amountCents: Number(cents), grantedAtMs: Number(at) });
    }
    return { cursor, records };
  },
});

export const claimPayoutRows = defineScript({
  name: 'red-packet.claim-payouts',
  source: claimPayoutsLua,
  keys: ['outbox'],
  args: { group: str, worker: str, leaseMs: int, count: int },
  flags: RELEASES,
  group: ALONE,
  reply: (fields: string[]) => {
    const rows: Omit<PayoutRow, 'activityId'>[] = [];
    for (let i = 0; i + 4 < fields.length; i += 5) {
      const [entryId = '', userId = '', packetId = '', cents, at] = fields.slice(i, i + 5);
      rows.push({ entryId, userId, packetId, amountCents: Number(cents), grantedAtMs: Number(at) });
    }
    return rows;
  },
});

export const settlePayoutRows = defineScript({
  name: 'red-packet.settle-payouts',
  source: settlePayoutsLua,
  keys: ['outbox'],
  args: { group: str, entryIds: list(str) },
  flags: RELEASES,
  group: ALONE,
  reply: (settled: number) => settled,
});

export const indexActivity = defineScript({
  name: 'red-packet.index-activity',
  source: indexActivityLua,
  keys: ['index'],
  args: { activityId: str, retentionMs: int, endsAtMs: int },
  reply: (entries: number) => entries,
});

export const listActivities = defineScript({
  name: 'red-packet.list-activities',
  source: listActivitiesLua,
  keys: ['index'],
  args: {},
  flags: RELEASES,
  group: ALONE,
  reply: (ids: string[]) => ids,
});

export const checkPermissions = defineScript({
  name: 'red-packet.check-permissions',
  source: checkPermissionsLua,
  keys: ['sample'],
  args: {},
  flags: ['no-writes'],
  reply: (missing: string[]) => missing,
});

/** Every script of this lib, for registration. */
export const redPacketScripts = [
  beginActivity,
  fillPool,
  openActivity,
  grabPacket,
  readBucket,
  setPause,
  closeBucket,
  sendPackets,
  receivePackets,
  confirmTransfer,
  voidGrant,
  readGrant,
  readLuckiest,
  readRecords,
  readListPage,
  readHashPage,
  readOutboxPage,
  claimPayoutRows,
  settlePayoutRows,
  indexActivity,
  listActivities,
  checkPermissions,
];
