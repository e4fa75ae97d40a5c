import { type BytesReply, defineScript, int, list, str } from 'luanest/script-registry';
import {
  announceLua,
  dropDeadLua,
  listDeadLua,
  listGroupsLua,
  publishLua,
  purgeLua,
  removeGroupLua,
  replayDeadLua,
  sharedClockLua,
  sharedEntriesLua,
  sharedForeignFieldsLua,
  sharedGroupsLua,
  sharedOwnFieldsLua,
  sharedParkedLua,
  sharedRowsLua,
  statsLua,
  withdrawLua,
} from '../scripts/generated';
import { EMPTIES, FEW } from '../scripts/parts.scripts';

export const publishMessage = defineScript({
  name: 'stream-consumer.publish',
  source: publishLua,
  keys: ['stream', 'waiters', 'operation'],
  args: { payload: str, key: str, name: str, retainMs: int, maxLength: int },
  reply: ([status, id]: [number, string]) => ({ status, id }),
});

export const announcePartitions = defineScript({
  name: 'stream-consumer.announce',
  source: announceLua,
  keys: ['config'],
  args: { partitions: int, group: str },
  flags: EMPTIES,
  reply: ([partitions, ...groups]: [number, ...string[]]) => ({ partitions, groups }),
});

export const withdrawGroup = defineScript({
  name: 'stream-consumer.withdraw',
  source: withdrawLua,
  keys: ['config'],
  args: { group: str },
  flags: EMPTIES,
  reply: ([withdrawn]: [number]) => withdrawn === 1,
});

export const listGroups = defineScript({
  name: 'stream-consumer.list-groups',
  source: listGroupsLua,
  shared: sharedEntriesLua,
  keys: ['stream'],
  args: {},
  flags: ['no-writes'],
  reply: (names: string[]) => names,
});

export const readStats = defineScript({
  name: 'stream-consumer.stats',
  source: statsLua,
  shared: sharedClockLua + sharedEntriesLua + sharedGroupsLua + sharedParkedLua,
  keys: ['stream', 'sessions', 'due', 'dead'],
  args: { group: str },
  flags: ['no-writes'],
  reply: (raw: number[]) => {
    const [length = 0, pending = 0, lag = 0, oldestMs = -1, due = 0, parked = 0, dead = 0, sessions = 0] = raw;
    return { length, pending, lag, oldestMs, due, parked, dead, sessions };
  },
});

export const listDead = defineScript({
  name: 'stream-consumer.list-dead',
  source: listDeadLua,
  shared: sharedEntriesLua + sharedOwnFieldsLua + sharedRowsLua,
  keys: ['dead'],
  args: { after: str, count: int },
  flags: ['no-writes'],
  group: false,
  reply: (rows: string[]) => rows,
});

/** Dead letters of another program's entries, whose payloads are all fields as they are. */
export const listDeadForeign = defineScript({
  name: 'stream-consumer.list-dead-foreign',
  source: listDeadLua,
  shared: sharedEntriesLua + sharedForeignFieldsLua + sharedRowsLua,
  keys: ['dead'],
  args: { after: str, count: int },
  flags: ['no-writes'],
  group: false,
  replyBytes: true,
  reply: (rows: BytesReply[]) => rows as Buffer[],
});

export const replayDead = defineScript({
  name: 'stream-consumer.replay-dead',
  source: replayDeadLua,
  shared: sharedEntriesLua,
  keys: ['dead', 'stream', 'waiters'],
  args: { group: str, ids: list(str) },
  group: FEW,
  reply: ([replayed]: [number]) => replayed,
});

export const dropDead = defineScript({
  name: 'stream-consumer.drop-dead',
  source: dropDeadLua,
  keys: ['dead'],
  args: { ids: list(str) },
  flags: EMPTIES,
  group: FEW,
  reply: ([dropped]: [number]) => dropped,
});

export const purgeStream = defineScript({
  name: 'stream-consumer.purge',
  source: purgeLua,
  shared: sharedEntriesLua + sharedGroupsLua,
  keys: ['stream'],
  args: { after: str, count: int, needs: str },
  flags: EMPTIES,
  group: { maxCalls: 1 },
  reply: ([deleted, after]: [number, string]) => ({ deleted, after }),
});

export const removeGroup = defineScript({
  name: 'stream-consumer.remove-group',
  source: removeGroupLua,
  shared: sharedEntriesLua,
  keys: ['stream', 'sessions', 'takes', 'due', 'tries', 'heads', 'dead'],
  args: { group: str },
  flags: EMPTIES,
  reply: ([removed]: [number]) => removed === 1,
});

/** What is done to a stream as a whole. */
export const streamScripts = [
  publishMessage,
  announcePartitions,
  withdrawGroup,
  listGroups,
  readStats,
  listDead,
  listDeadForeign,
  replayDead,
  dropDead,
  purgeStream,
  removeGroup,
];
