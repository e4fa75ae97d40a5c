import { defineScript, int, list, str } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../../internal/src';
import { ACTIVITY_KEYS, BUCKET_KEYS } from '../buckets/bucket-keys';
import {
  beginActivityLua,
  checkPermissionsLua,
  closeActivityLua,
  compareRefundsLua,
  fillPoolLua,
  nextDecisionLua,
  noteReportLua,
  openActivityLua,
  setPauseLua,
  settleBucketLua,
  voidGrantLua,
} from '../scripts/generated';

/** Maximum number of packets that one call of fill-pool.lua stores. The script refuses more. */
export const CHUNK_PACKETS = 1_000;

/**
 * Stored state of a bucket (shard of an activity). `spread:<n>` is the state of the root: the hash that has the number of buckets, n, of an
 * open activity.
 */
type StoredState = 'draft' | 'open' | 'paused' | 'closed' | `spread:${number}`;

export const beginActivity = defineScript({
  name: 'red-packet.begin-activity',
  ...beginActivityLua,
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
    reports: int,
    encodedId: str,
  },
  group: false,
  reply: ([status, state, seed, expires, ends]: string[]) => ({
    status: status as 'begun' | 'found' | 'settled' | 'conflict' | 'orphaned' | 'over',
    state: state as StoredState,
    seed: seed ?? '',
    expiresAtMs: Number(expires),
    endsAtMs: Number(ends),
  }),
});

export const fillPool = defineScript({
  name: 'red-packet.fill-pool',
  ...fillPoolLua,
  keys: ['meta', 'pool'],
  args: { offset: int, chunk: list(str) },
  group: false,
  reply: ([status, length]: [string, number]) => ({ status: status as 'filled' | 'elsewhere' | 'closed', length }),
});

export const openActivity = defineScript({
  name: 'red-packet.open-activity',
  ...openActivityLua,
  keys: [...ACTIVITY_KEYS, 'outbox'],
  args: { group: str },
  group: false,
  reply: ([status]: string[]) => status as 'opened' | 'open' | 'incomplete' | 'missing',
});

export const nextDecision = defineScript({
  name: 'red-packet.next-decision',
  ...nextDecisionLua,
  keys: ['meta'],
  args: {},
  flags: FREES_MEMORY,
  group: false,
  reply: ([decision = '']: string[]) => decision,
});

export const setPause = defineScript({
  name: 'red-packet.set-pause',
  ...setPauseLua,
  keys: ['meta'],
  args: { state: str, decision: str },
  flags: FREES_MEMORY,
  group: false,
  reply: ([was, is]: string[]) => ({ was: was as StoredState | '', is: is as StoredState | '' }),
});

export const closeBucket = defineScript({
  name: 'red-packet.close-activity',
  ...closeActivityLua,
  keys: ['meta', 'pool', 'refunds', 'grants'],
  args: { atEnd: int },
  flags: FREES_MEMORY,
  group: false,
  reply: ([status]: string[]) =>
    status as 'closed' | 'closed-before' | 'not-ended' | 'draft' | 'missing' | `spread:${number}`,
});

export const compareRefunds = defineScript({
  name: 'red-packet.compare-refunds',
  ...compareRefundsLua,
  keys: ['meta', 'grants', 'voids', 'refunds'],
  args: { last: int, expiresAtMs: int, entries: list(str) },
  flags: FREES_MEMORY,
  group: false,
  reply: ([, taken]: [string, number]) => taken,
});

export const noteReport = defineScript({
  name: 'red-packet.note-report',
  ...noteReportLua,
  keys: ['meta'],
  args: { packets: int, expiresAtMs: int },
  flags: FREES_MEMORY,
  group: false,
  reply: (noted: number) => noted === 1,
});

export const voidGrant = defineScript({
  name: 'red-packet.void-grant',
  ...voidGrantLua,
  keys: ['meta', 'grants', 'voids', 'refunds'],
  args: { userId: str, packetId: str, paid: str, owner: str },
  flags: FREES_MEMORY,
  group: false,
  reply: ([status]: string[]) => status as 'void' | 'void-before' | 'none' | 'gone',
});

export const settleBucket = defineScript({
  name: 'red-packet.settle-bucket',
  ...settleBucketLua,
  keys: BUCKET_KEYS,
  args: { giveUp: int, expiresAtMs: int },
  flags: FREES_MEMORY,
  group: false,
  reply: ([status]: string[]) => status as 'settled' | 'settled-before' | 'owed' | 'missing',
});

export const checkPermissions = defineScript({
  name: 'red-packet.check-permissions',
  ...checkPermissionsLua,
  keys: ['sample'],
  args: {},
  flags: ['no-writes'],
  group: false,
  reply: (missing: string[]) => missing,
});

export const activityScripts = [
  beginActivity,
  fillPool,
  openActivity,
  nextDecision,
  setPause,
  closeBucket,
  compareRefunds,
  noteReport,
  voidGrant,
  settleBucket,
  checkPermissions,
];
