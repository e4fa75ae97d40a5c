import { defineScript, int, str } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../../internal/src';
import {
  addActivityLua,
  fixPartitionsLua,
  listActivitiesLua,
  pageActivitiesLua,
  retireActivityLua,
} from '../scripts/generated';

const LIST = ['activities', 'settled'] as const;

export const fixPartitions = defineScript({
  name: 'red-packet.fix-partitions',
  ...fixPartitionsLua,
  keys: [...LIST, 'partitions'],
  args: { partitions: int },
  group: false,
  reply: Number,
});

export const addActivity = defineScript({
  name: 'red-packet.add-activity',
  ...addActivityLua,
  keys: [...LIST, 'partitions'],
  args: { activityId: str, partitions: int, retentionMs: int, fromMs: int },
  group: false,
  reply: Number,
});

export const retireActivity = defineScript({
  name: 'red-packet.retire-activity',
  ...retireActivityLua,
  keys: LIST,
  args: { activityId: str, keepMs: int },
  flags: FREES_MEMORY,
  group: false,
  reply: (retired: number) => retired === 1,
});

export const listActivities = defineScript({
  name: 'red-packet.list-activities',
  ...listActivitiesLua,
  keys: LIST,
  args: {},
  flags: FREES_MEMORY,
  group: false,
  reply: (ids: string[]) => ids,
});

export const pageActivities = defineScript({
  name: 'red-packet.page-activities',
  ...pageActivitiesLua,
  keys: LIST,
  args: { beforeMs: int, beforeId: str, limit: int },
  flags: FREES_MEMORY,
  group: false,
  reply: ([total, ...rows]: [number, ...string[]]) => ({
    total,
    items: Array.from({ length: rows.length / 2 }, (_, i) => ({
      activityId: rows[2 * i] as string,
      atMs: Number(rows[2 * i + 1]),
    })),
  }),
});

export const listScripts = [fixPartitions, addActivity, retireActivity, listActivities, pageActivities];
