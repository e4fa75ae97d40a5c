import { defineScript, int, list, str } from 'luanest/script-registry';
import { takeAnswer } from './streams/take-answer';
import {
  ackLua,
  announceLua,
  dropDeadLua,
  finishLua,
  leaveLua,
  listDeadLua,
  mendLua,
  openLua,
  publishLua,
  purgeLua,
  removeGroupLua,
  renewLua,
  replayDeadLua,
  retryLua,
  sharedClockLua,
  sharedEntriesLua,
  sharedGroupsLua,
  sharedParkedLua,
  sharedRowsLua,
  statsLua,
  sweepLua,
  takeLua,
  takeOrderedLua,
} from './scripts/generated';

/** A full Redis must still let its consumers empty it. */
const EMPTIES = ['allow-oom'] as const;
/** Scripts whose work grows with what they are given leave in small groups, or alone. */
const FEW = { maxCalls: 8 };

/** What both kinds of takes share. */
const TAKES = sharedClockLua + sharedEntriesLua + sharedRowsLua;

const takeArgs = { group: str, session: str, token: str, count: int, leaseMs: int, begins: int, waitMs: int };
const takeKeys = ['stream', 'sessions', 'takes', 'due', 'tries', 'waiters'] as const;
const isAlive = ([alive]: [number]): boolean => alive === 1;

export const publishMessage = defineScript({
  name: 'stream-consumer.publish',
  source: publishLua,
  keys: ['stream', 'waiters', 'operation'],
  args: { payload: str, key: str, name: str, retainMs: int, maxLength: int },
  reply: ([status, id]: [number, string]) => ({ status, id }),
});

export const openGroup = defineScript({
  name: 'stream-consumer.open',
  source: openLua,
  keys: ['stream', 'sessions', 'takes', 'due', 'tries', 'heads', 'parked'],
  args: { group: str, makes: int },
  flags: EMPTIES,
  reply: ([made]: [number]) => (['there', 'made', 'no-stream'] as const)[made] ?? 'there',
});

export const takeEntries = defineScript({
  name: 'stream-consumer.take',
  source: takeLua,
  shared: TAKES,
  keys: takeKeys,
  args: takeArgs,
  flags: EMPTIES,
  group: FEW,
  reply: takeAnswer,
});

export const takeOrdered = defineScript({
  name: 'stream-consumer.take-ordered',
  source: takeOrderedLua,
  shared: TAKES + sharedParkedLua + sharedGroupsLua,
  keys: [...takeKeys, 'heads', 'parked'] as const,
  args: { ...takeArgs, maxParked: int },
  flags: EMPTIES,
  group: FEW,
  reply: takeAnswer,
});

export const acknowledge = defineScript({
  name: 'stream-consumer.ack',
  source: ackLua,
  shared: sharedEntriesLua + sharedGroupsLua,
  keys: ['stream', 'sessions', 'tries'],
  args: { group: str, session: str, ids: list(str) },
  flags: EMPTIES,
  group: FEW,
  reply: isAlive,
});

export const finish = defineScript({
  name: 'stream-consumer.finish',
  source: finishLua,
  shared: sharedClockLua + sharedEntriesLua + sharedGroupsLua + sharedParkedLua,
  keys: ['stream', 'sessions', 'due', 'tries', 'dead', 'heads', 'parked'],
  args: { group: str, session: str, rows: list(str) },
  flags: EMPTIES,
  group: FEW,
  reply: ([alive, released]: [number, number]) => ({ alive: alive === 1, released }),
});

export const retryEntry = defineScript({
  name: 'stream-consumer.retry',
  source: retryLua,
  shared: sharedClockLua + sharedEntriesLua,
  keys: ['stream', 'sessions', 'due', 'tries', 'waiters'],
  args: {
    group: str,
    session: str,
    id: str,
    attempt: int,
    counted: int,
    firstSeenMs: int,
    delayMs: int,
    problem: str,
  },
  flags: EMPTIES,
  reply: isAlive,
});

export const renewSession = defineScript({
  name: 'stream-consumer.renew',
  source: renewLua,
  shared: sharedClockLua,
  keys: ['sessions'],
  args: { session: str, leaseMs: int },
  flags: EMPTIES,
  reply: isAlive,
});

export const sweepSessions = defineScript({
  name: 'stream-consumer.sweep',
  source: sweepLua,
  shared: sharedClockLua + sharedEntriesLua,
  keys: ['stream', 'sessions', 'takes', 'due', 'tries'],
  args: { group: str, count: int, problem: str },
  flags: EMPTIES,
  group: FEW,
  reply: ([taken, more, session]: [number, number, string]) => ({ taken, more: more === 1, session }),
});

export const mendGroup = defineScript({
  name: 'stream-consumer.mend',
  source: mendLua,
  shared: sharedClockLua + sharedEntriesLua + sharedParkedLua,
  keys: ['stream', 'sessions', 'due', 'heads', 'parked'],
  args: { group: str, after: str, count: int },
  flags: EMPTIES,
  group: { maxCalls: 1 },
  reply: ([mended, after]: [number, string]) => ({ mended, after }),
});

export const leaveGroup = defineScript({
  name: 'stream-consumer.leave',
  source: leaveLua,
  shared: sharedEntriesLua,
  keys: ['stream', 'sessions', 'takes'],
  args: { group: str, session: str },
  flags: EMPTIES,
  reply: ([left]: [number]) => left === 1,
});

export const announcePartitions = defineScript({
  name: 'stream-consumer.announce',
  source: announceLua,
  keys: ['config'],
  args: { partitions: int },
  flags: EMPTIES,
  reply: ([partitions]: [number]) => partitions,
});

export const readStats = defineScript({
  name: 'stream-consumer.stats',
  source: statsLua,
  shared: sharedClockLua + sharedEntriesLua + sharedGroupsLua,
  keys: ['stream', 'sessions', 'due', 'parked', 'dead'],
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
  shared: sharedEntriesLua + sharedRowsLua,
  keys: ['dead'],
  args: { after: str, count: int },
  flags: ['no-writes'],
  group: false,
  reply: (rows: string[]) => rows,
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
  args: { after: str, count: int },
  flags: EMPTIES,
  group: { maxCalls: 1 },
  reply: ([deleted, after]: [number, string]) => ({ deleted, after }),
});

export const removeGroup = defineScript({
  name: 'stream-consumer.remove-group',
  source: removeGroupLua,
  shared: sharedEntriesLua,
  keys: ['stream', 'sessions', 'takes', 'due', 'tries', 'heads', 'parked', 'dead'],
  args: { group: str },
  flags: EMPTIES,
  reply: ([removed]: [number]) => removed === 1,
});

/** Every script of this lib, for registration. */
export const streamConsumerScripts = [
  publishMessage,
  openGroup,
  takeEntries,
  takeOrdered,
  acknowledge,
  finish,
  retryEntry,
  renewSession,
  sweepSessions,
  mendGroup,
  leaveGroup,
  announcePartitions,
  readStats,
  listDead,
  replayDead,
  dropDead,
  purgeStream,
  removeGroup,
];
