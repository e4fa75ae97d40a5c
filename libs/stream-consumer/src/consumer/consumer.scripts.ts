import { defineScript, int, list, str } from 'luanest/script-registry';
import { FREES_MEMORY, SMALL_GROUP } from '../../../internal/src';
import {
  ackLua,
  finishLua,
  leaveLua,
  openLua,
  renewLua,
  repairLua,
  retryLua,
  sweepLua,
  takeForeignFieldsLua,
  takeLua,
  takeOrderedForeignFieldsLua,
  takeOrderedLua,
  tidyLua,
} from '../scripts/generated';
import { takeAnswer, takeAnswerOfBytes } from './take-answer';

const takeArgs = { group: str, session: str, token: str, count: int, leaseMs: int, begins: int };
const takeKeys = ['stream', 'sessions', 'takes', 'due', 'tries', 'woken'] as const;
const isAlive = ([alive]: [number]): boolean => alive === 1;

export const openGroup = defineScript({
  name: 'stream-consumer.open',
  ...openLua,
  keys: ['stream', 'sessions', 'takes', 'due', 'tries', 'heads'],
  args: { group: str, makes: int, from: str },
  flags: FREES_MEMORY,
  group: false,
  reply: ([made, from]: [number, string]) => ({
    state: (['there', 'made', 'no-stream'] as const)[made] ?? 'there',
    from,
  }),
});

export const takeEntries = defineScript({
  name: 'stream-consumer.take',
  ...takeLua,
  keys: takeKeys,
  args: takeArgs,
  flags: FREES_MEMORY,
  group: SMALL_GROUP,
  reply: takeAnswer,
});

/** Does what `takeEntries` does, for entries of other programs. A payload is all fields of the entry, packed as bytes. */
export const takeForeign = defineScript({
  name: 'stream-consumer.take-foreign',
  ...takeForeignFieldsLua,
  keys: takeKeys,
  args: takeArgs,
  flags: FREES_MEMORY,
  group: false,
  replyBytes: true,
  reply: takeAnswerOfBytes,
});

export const takeOrdered = defineScript({
  name: 'stream-consumer.take-ordered',
  ...takeOrderedLua,
  keys: [...takeKeys, 'heads'] as const,
  args: { ...takeArgs, maxKeys: int },
  flags: FREES_MEMORY,
  group: SMALL_GROUP,
  reply: takeAnswer,
});

export const takeForeignOrdered = defineScript({
  name: 'stream-consumer.take-foreign-ordered',
  ...takeOrderedForeignFieldsLua,
  keys: [...takeKeys, 'heads'] as const,
  args: { ...takeArgs, maxKeys: int },
  flags: FREES_MEMORY,
  group: false,
  replyBytes: true,
  reply: takeAnswerOfBytes,
});

export const acknowledge = defineScript({
  name: 'stream-consumer.ack',
  ...ackLua,
  keys: ['stream', 'sessions', 'tries'],
  args: { group: str, session: str, needs: str, ids: list(str) },
  flags: FREES_MEMORY,
  group: SMALL_GROUP,
  reply: isAlive,
});

export const finish = defineScript({
  name: 'stream-consumer.finish',
  ...finishLua,
  keys: ['stream', 'sessions', 'due', 'tries', 'dead', 'heads'],
  args: { group: str, session: str, needs: str, rows: list(str) },
  flags: FREES_MEMORY,
  group: false,
  reply: ([alive, released, buried]: [number, number, number]) => ({ alive: alive === 1, released, buried }),
});

export const retryEntry = defineScript({
  name: 'stream-consumer.retry',
  ...retryLua,
  keys: ['stream', 'sessions', 'due', 'tries', 'woken'],
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
  flags: FREES_MEMORY,
  group: false,
  reply: isAlive,
});

export const renewSession = defineScript({
  name: 'stream-consumer.renew',
  ...renewLua,
  keys: ['sessions'],
  args: { session: str, leaseMs: int },
  flags: FREES_MEMORY,
  reply: isAlive,
});

export const sweepSessions = defineScript({
  name: 'stream-consumer.sweep',
  ...sweepLua,
  keys: ['stream', 'sessions', 'takes', 'due', 'tries'],
  args: { group: str, count: int, problem: str },
  flags: FREES_MEMORY,
  group: false,
  reply: ([taken, more, session]: [number, number, string]) => ({ taken, more: more === 1, session }),
});

export const repairGroup = defineScript({
  name: 'stream-consumer.repair',
  ...repairLua,
  keys: ['stream', 'sessions', 'due', 'heads', 'takes'],
  args: {
    group: str,
    leaseMs: int,
    count: int,
    pending: str,
    waiting: str,
    parked: str,
    session: str,
    taken: int,
    held: list(str),
  },
  flags: FREES_MEMORY,
  group: false,
  reply: ([repaired, pending, waiting, parked]: [number, string, string, string]) => ({
    repaired,
    next: { pending, waiting, parked },
  }),
});

export const tidyNotes = defineScript({
  name: 'stream-consumer.tidy',
  ...tidyLua,
  keys: ['stream', 'tries', 'heads'],
  args: { group: str, count: int, triesAfter: str, headsAfter: str },
  flags: FREES_MEMORY,
  group: false,
  reply: ([triesAfter, headsAfter]: [string, string]) => ({ triesAfter, headsAfter }),
});

export const leaveGroup = defineScript({
  name: 'stream-consumer.leave',
  ...leaveLua,
  keys: ['stream', 'sessions', 'takes', 'due', 'woken'],
  args: { group: str, session: str },
  flags: FREES_MEMORY,
  group: false,
  reply: ([left]: [number]) => left === 1,
});

/** Scripts of consumers. */
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
  repairGroup,
  tidyNotes,
  leaveGroup,
];
