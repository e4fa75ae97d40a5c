import { defineScript, int, list, str } from 'luanest/script-registry';
import {
  ackLua,
  finishLua,
  leaveLua,
  mendLua,
  openLua,
  renewLua,
  retryLua,
  sharedClockLua,
  sharedEntriesLua,
  sharedForeignFieldsLua,
  sharedGroupsLua,
  sharedOwnFieldsLua,
  sharedParkedLua,
  sharedRowsLua,
  sweepLua,
  takeLua,
  takeOrderedLua,
  tidyLua,
} from '../scripts/generated';
import { EMPTIES, FEW } from '../scripts/parts.scripts';
import { takeAnswer, takeAnswerOfBytes } from './take-answer';

/** What both kinds of takes share. */
const TAKES = sharedClockLua + sharedEntriesLua + sharedRowsLua;

const takeArgs = { group: str, session: str, token: str, count: int, leaseMs: int, begins: int, waitMs: int };
const takeKeys = ['stream', 'sessions', 'takes', 'due', 'tries', 'waiters'] as const;
const isAlive = ([alive]: [number]): boolean => alive === 1;

export const openGroup = defineScript({
  name: 'stream-consumer.open',
  source: openLua,
  keys: ['stream', 'sessions', 'takes', 'due', 'tries', 'heads'],
  args: { group: str, makes: int, from: str },
  flags: EMPTIES,
  reply: ([made, from]: [number, string]) => ({
    state: (['there', 'made', 'no-stream'] as const)[made] ?? 'there',
    from,
  }),
});

export const takeEntries = defineScript({
  name: 'stream-consumer.take',
  source: takeLua,
  shared: TAKES + sharedOwnFieldsLua,
  keys: takeKeys,
  args: takeArgs,
  flags: EMPTIES,
  group: FEW,
  reply: takeAnswer,
});

/** Takes entries of another program, whose payloads are all fields as they are. */
export const takeForeign = defineScript({
  name: 'stream-consumer.take-foreign',
  source: takeLua,
  shared: TAKES + sharedForeignFieldsLua,
  keys: takeKeys,
  args: takeArgs,
  flags: EMPTIES,
  group: FEW,
  replyBytes: true,
  reply: takeAnswerOfBytes,
});

export const takeOrdered = defineScript({
  name: 'stream-consumer.take-ordered',
  source: takeOrderedLua,
  shared: TAKES + sharedOwnFieldsLua + sharedParkedLua + sharedGroupsLua,
  keys: [...takeKeys, 'heads'] as const,
  args: { ...takeArgs, maxKeys: int },
  flags: EMPTIES,
  group: FEW,
  reply: takeAnswer,
});

export const takeForeignOrdered = defineScript({
  name: 'stream-consumer.take-foreign-ordered',
  source: takeOrderedLua,
  shared: TAKES + sharedForeignFieldsLua + sharedParkedLua + sharedGroupsLua,
  keys: [...takeKeys, 'heads'] as const,
  args: { ...takeArgs, maxKeys: int },
  flags: EMPTIES,
  group: FEW,
  replyBytes: true,
  reply: takeAnswerOfBytes,
});

export const acknowledge = defineScript({
  name: 'stream-consumer.ack',
  source: ackLua,
  shared: sharedEntriesLua + sharedGroupsLua,
  keys: ['stream', 'sessions', 'tries'],
  args: { group: str, session: str, needs: str, ids: list(str) },
  flags: EMPTIES,
  group: FEW,
  reply: isAlive,
});

export const finish = defineScript({
  name: 'stream-consumer.finish',
  source: finishLua,
  shared: sharedClockLua + sharedEntriesLua + sharedGroupsLua + sharedParkedLua,
  keys: ['stream', 'sessions', 'due', 'tries', 'dead', 'heads'],
  args: { group: str, session: str, needs: str, rows: list(str) },
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
  keys: ['stream', 'sessions', 'due', 'heads'],
  args: { group: str, leaseMs: int, count: int, pending: str, waiting: str, parked: str },
  flags: EMPTIES,
  group: { maxCalls: 1 },
  reply: ([mended, pending, waiting, parked]: [number, string, string, string]) => ({
    mended,
    next: { pending, waiting, parked },
  }),
});

export const tidyNotes = defineScript({
  name: 'stream-consumer.tidy',
  source: tidyLua,
  shared: sharedEntriesLua + sharedParkedLua,
  keys: ['stream', 'tries', 'heads'],
  args: { group: str, count: int, triesAfter: str, headsAfter: str },
  flags: EMPTIES,
  group: { maxCalls: 1 },
  reply: ([triesAfter, headsAfter]: [string, string]) => ({ triesAfter, headsAfter }),
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

/** What a consumer runs. */
export const consumerScripts = [
  openGroup,
  takeEntries,
  takeForeign,
  takeOrdered,
  takeForeignOrdered,
  acknowledge,
  finish,
  retryEntry,
  renewSession,
  sweepSessions,
  mendGroup,
  tidyNotes,
  leaveGroup,
];
