import { defineScript, int, list, str } from 'luanest/script-registry';
import type { GrabResult, GrantRecord, PayoutRow } from './red-packet.types';
import {
  beginActivityLua,
  checkPermissionsLua,
  claimPayoutsLua,
  fillPoolLua,
  grabLua,
  indexActivityLua,
  listActivitiesLua,
  openActivityLua,
  recordsLua,
  settlePayoutsLua,
  statusLua,
} from './scripts/generated';

/** Work that grows with its arguments goes alone, so that no group holds Redis for long. */
const ALONE = { maxCalls: 1 };
/** A full Redis must still be drained: these scripts release memory, or need next to none. */
const RELEASES = ['allow-oom'] as const;
const ACTIVITY_KEYS = ['meta', 'pool', 'grants', 'outbox'] as const;

/** Most packets that `fillPool` takes at once; `unpack` in Redis' Lua is safe for these. */
export const CHUNK_PACKETS = 1_000;

export const beginActivity = defineScript({
  name: 'red-packet.begin-activity',
  source: beginActivityLua,
  keys: ACTIVITY_KEYS,
  args: { totalCents: int, packets: int, minCents: int, maxCents: int, retentionMs: int, seed: str },
  reply: ([status, state, seed]: string[]) => ({
    status: status as 'begun' | 'found' | 'conflict' | 'orphaned',
    state: state as 'draft' | 'open',
    seed: seed ?? '',
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
  keys: ACTIVITY_KEYS,
  args: { group: str },
  reply: ([status]: string[]) => status as 'opened' | 'open' | 'incomplete' | 'missing',
});

export const grabPacket = defineScript({
  name: 'red-packet.grab',
  source: grabLua,
  keys: ACTIVITY_KEYS,
  args: { userId: str },
  reply: ([code, packetId, cents, at]: [number, string, string, string]): GrabResult => {
    const packet = { packetId, amountCents: Number(cents), grantedAtMs: Number(at) };
    if (code === 0) return { code: '0', outcome: 'won', packet };
    if (code === 1) return { code: '1', outcome: 'already-won', packet };
    return code === -1 ? { code: '-1', outcome: 'sold-out' } : { code: '-2', outcome: 'not-open' };
  },
});

export const readStatus = defineScript({
  name: 'red-packet.status',
  source: statusLua,
  keys: ACTIVITY_KEYS,
  args: {},
  flags: RELEASES,
  reply: ([state, ...figures]: [string, ...(string | number)[]]) => {
    const [
      totalCents = 0,
      packets = 0,
      pooled = 0,
      granted = 0,
      grantedCents = 0,
      outboxLength = 0,
      createdAtMs = 0,
      expiresAtMs = 0,
    ] = figures.map(Number);
    return {
      state: state as 'draft' | 'open' | '',
      totalCents,
      packets,
      pooled,
      granted,
      grantedCents,
      outboxLength,
      createdAtMs,
      expiresAtMs,
    };
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
  args: { activityId: str, retentionMs: int },
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
  readStatus,
  readRecords,
  claimPayoutRows,
  settlePayoutRows,
  indexActivity,
  listActivities,
  checkPermissions,
];
