import { defineScript, int, str } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../internal/src';
import type { JobLook } from './scheduled-lock.console';
import type { JobStatus, JobRecord } from './scheduled-lock.types';
import { claimLua, completeLua, historyLua, lookLua, renewLua } from './scripts/generated';

export interface ClaimReply {
  readonly status: 'ran' | 'skipped-held' | 'skipped-slot' | 'stale' | 'nothing';
  readonly slot: number;
  readonly fence: number;
  /** Above 0: another run holds the lock, but the period of the `@Interval` ends only after this time, ms. So try again. */
  readonly leftMs: number;
}

export const claimRun = defineScript({
  name: 'scheduled-lock.claim',
  ...claimLua,
  keys: ['state', 'history'],
  args: {
    owner: str,
    node: str,
    mode: str,
    slot: int,
    periodMs: int,
    staleMs: int,
    leaseMs: int,
    retentionMs: int,
    keep: int,
  },
  group: false,
  reply: ([status, slot, fence, leftMs]: [string, string, string, number]): ClaimReply => ({
    status: status as ClaimReply['status'],
    slot: Number(slot),
    fence: Number(fence),
    leftMs,
  }),
});

export const renewRun = defineScript({
  name: 'scheduled-lock.renew',
  ...renewLua,
  keys: ['state'],
  args: { owner: str, leaseMs: int, retentionMs: int },
  flags: FREES_MEMORY,
  group: false,
  reply: (held: number) => held === 1,
});

export const completeRun = defineScript({
  name: 'scheduled-lock.complete',
  ...completeLua,
  keys: ['state', 'history'],
  args: {
    owner: str,
    node: str,
    status: str,
    durationMs: int,
    atLeastMs: int,
    retentionMs: int,
    keep: int,
    slot: int,
    fence: int,
  },
  flags: FREES_MEMORY,
  group: false,
  // If the call was sent twice, the first copy may have ended the lease, and another run may have claimed the job before the second copy.
  reply: (released: number, resent): 'released' | 'lost' | 'unknown' =>
    released === 1 ? 'released' : resent ? 'unknown' : 'lost',
});

export const readHistory = defineScript({
  name: 'scheduled-lock.history',
  ...historyLua,
  keys: ['history'],
  args: {},
  flags: ['no-writes'],
  group: false,
  reply: (entries: string[]): JobRecord[] => entries.map(recordOf),
});

export const lookAtJob = defineScript({
  name: 'scheduled-lock.look',
  ...lookLua,
  keys: ['state', 'history'],
  args: { entries: int },
  flags: ['no-writes'],
  group: false,
  reply: ([run, owner, mode, fence, since, till, ...entries]: string[]) => ({
    run: run as JobLook['run'],
    owner: owner as string,
    mode: mode as JobLook['mode'],
    fence: Number(fence),
    startedAtMs: Number(since),
    leaseEndsAtMs: Number(till),
    records: entries.map(recordOf),
  }),
});

function recordOf(entry: string): JobRecord {
  const [status, slot, at, duration, fence, node = ''] = entry.split(' ');
  return {
    status: status as JobStatus,
    slot: Number(slot),
    recordedAtMs: Number(at),
    durationMs: Number(duration),
    fence: Number(fence),
    node,
  };
}

export const scheduledLockScripts = [claimRun, renewRun, completeRun, readHistory, lookAtJob];
