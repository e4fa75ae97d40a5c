import { defineScript, int, list, str } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../../internal/src';
import {
  indexActivityLua,
  listActivitiesLua,
  listWokenLua,
  lookLua,
  scanActivitiesLua,
  unlistActivityLua,
  wakeActivitiesLua,
} from '../scripts/generated';

export const indexActivity = defineScript({
  name: 'red-packet.index-activity',
  ...indexActivityLua,
  keys: ['index'],
  args: { activityId: str, retentionMs: int, fromMs: int },
  group: false,
  reply: (entries: number) => entries,
});

export const listActivities = defineScript({
  name: 'red-packet.list-activities',
  ...listActivitiesLua,
  keys: ['index'],
  args: {},
  flags: FREES_MEMORY,
  group: false,
  reply: (ids: string[]) => ids,
});

export const scanActivities = defineScript({
  name: 'red-packet.scan-activities',
  ...scanActivitiesLua,
  keys: ['index'],
  args: { cursor: str, count: int },
  flags: FREES_MEMORY,
  group: false,
  reply: ([cursor = '0', ...ids]: string[]) => ({ cursor, ids }),
});

export const unlistActivity = defineScript({
  name: 'red-packet.unlist-activity',
  ...unlistActivityLua,
  keys: ['index'],
  args: { activityId: str },
  flags: FREES_MEMORY,
  group: false,
  reply: (dropped: number) => dropped === 1,
});

export const wakeActivities = defineScript({
  name: 'red-packet.wake-activities',
  ...wakeActivitiesLua,
  keys: ['woken'],
  args: { activityIds: list(str) },
  flags: FREES_MEMORY,
  group: false,
  reply: (woken: number) => woken,
});

export const listWoken = defineScript({
  name: 'red-packet.list-woken',
  ...listWokenLua,
  keys: ['woken'],
  args: { after: int, count: int },
  flags: FREES_MEMORY,
  group: false,
  reply: ([lost, last, ...ids]: [number, string, ...string[]]) => ({ lost: lost === 1, last: Number(last), ids }),
});

/** A short reading of a bucket: what a payout run must know to decide if it checks the activity. */
export interface Look {
  /** Payouts that are neither settled nor dead-lettered. */
  readonly open: number;
  /** Dead-lettered payouts; 0 if they were not counted. */
  readonly dead: number;
  /** As stored: `draft`, `open`, `paused`, `closed`, or `spread:<n>` for the opened root of n buckets; '' without a bucket. */
  readonly state: string;
  readonly endsAtMs: number;
  readonly expiresAtMs: number;
  readonly settled: boolean;
}

export const lookAtBucket = defineScript({
  name: 'red-packet.look',
  ...lookLua,
  keys: ['meta', 'outbox', 'dead'],
  args: { countDead: int },
  flags: FREES_MEMORY,
  reply: ([open, dead, state, ends, expires, forget]: [number, number, string, string, string, string]): Look => {
    return { open, dead, state, endsAtMs: Number(ends), expiresAtMs: Number(expires), settled: Number(forget) > 0 };
  },
});

/** Scripts of the index of activities, and those by which payout runs find activities to pay. */
export const indexScripts = [
  indexActivity,
  listActivities,
  scanActivities,
  unlistActivity,
  wakeActivities,
  listWoken,
  lookAtBucket,
];
