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

/** An entry of a stream that a script has assigned to this process. */
export interface TakenEntry {
  readonly id: string;
  /** JSON text. On a stream of another program (option `keys`), all fields of the entry packed as bytes, see `unpackFields`. */
  readonly payload: string | Buffer;
  /** Key of the message; '' if it has none. */
  readonly key: string;
  /** `operationId` of the publish call; '' if it had none. */
  readonly operation: string;
  /** Number of the attempt, from 1; 0 for an entry that was replayed for another group only. */
  readonly attempt: number;
  /** How often the message was given back before in attempts that did not count. */
  readonly returned: number;
  /** Time of the first delivery, ms since 1970 by Redis' clock. */
  readonly firstSeenMs: number;
  /** When the message was taken, ms since 1970 by Redis' clock. */
  readonly takenMs: number;
}

/** Reply of a script that takes entries: it assigns entries of a partition to this process, which then handles them. */
export interface TakeAnswer {
  readonly state: 'taken' | 'lost' | 'no-group';
  /** True if the partition may have more entries to take. */
  readonly more: boolean;
  /** True if no new entries were read, because too many keys have unfinished entries (`maxKeys`). */
  readonly blocked: boolean;
  /** Time until the next retry is due, ms; Infinity if no retry waits. */
  readonly dueInMs: number;
  /** Time until the next lease of the group ends, ms; 0 if a lease has ended already; Infinity if no process has a lease. */
  readonly endInMs: number;
  readonly entries: readonly TakenEntry[];
}

const STATES = ['lost', 'taken', 'no-group'] as const;
/** Number of columns in the reply for an entry that this group gets for the first time. */
const NEW_COLUMNS = 4;
/** Number of columns in the reply for an entry that this group has got before. */
const OLD_COLUMNS = 6;

/**
 * Parses the reply of a script that takes entries: six numbers, then the rows of entries that were delivered before, then those of new
 * entries.
 */
function takeAnswer(raw: (string | number)[]): TakeAnswer {
  return answerOf(raw);
}

type BytesReply = number | Buffer | null | BytesReply[];

/** Does the same as `takeAnswer` for a stream of another program (option `keys`), whose payloads are bytes. */
function takeAnswerOfBytes(raw: BytesReply[]): TakeAnswer {
  return answerOf(raw as (Buffer | number)[]);
}

function answerOf(raw: readonly (string | Buffer | number)[]): TakeAnswer {
  const [state = 0, more, dueInMs = -1, endInMs = -1, nowMs = 0, again = 0] = raw as readonly number[];
  const row = raw as readonly (string | Buffer)[];
  const entries: TakenEntry[] = [];
  let at = 6;
  for (const end = at + again * OLD_COLUMNS; at < end; at += OLD_COLUMNS) entries.push(entryAt(row, at, true, nowMs));
  for (; at < row.length; at += NEW_COLUMNS) entries.push(entryAt(row, at, false, nowMs));
  const time = (ms: number): number => (ms < 0 ? Infinity : ms);
  return {
    state: STATES[state] ?? 'lost',
    more: more === 1,
    blocked: more === 2,
    dueInMs: time(dueInMs),
    endInMs: time(endInMs),
    entries,
  };
}

function entryAt(row: readonly (string | Buffer)[], at: number, old: boolean, nowMs: number): TakenEntry {
  const [attempt = '1', returned = '0'] = old ? String(row[at + 4]).split('.') : [];
  return {
    id: String(row[at]),
    payload: row[at + 1] as string | Buffer,
    key: String(row[at + 2]),
    operation: String(row[at + 3]),
    attempt: Number(attempt),
    returned: Number(returned),
    firstSeenMs: old ? Number(row[at + 5]) : nowMs,
    takenMs: nowMs,
  };
}

const takeArgs = { group: str, session: str, token: str, count: int, leaseMs: int, begins: int };
const takeKeys = ['stream', 'sessions', 'takes', 'due', 'tries', 'woken', 'unsettled'] as const;
const isAlive = ([alive]: [number]): boolean => alive === 1;

export const openGroup = defineScript({
  name: 'stream-consumer.open',
  ...openLua,
  keys: ['stream', 'sessions', 'takes', 'due', 'tries', 'heads', 'unsettled'],
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

/** Takes entries from a stream that another program writes. The payload consists of all fields of an entry, packed as bytes. */
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
  keys: ['stream', 'sessions', 'tries', 'unsettled', 'needed[]'],
  args: { group: str, session: str, needs: str, ids: list(str) },
  flags: FREES_MEMORY,
  group: SMALL_GROUP,
  reply: isAlive,
});

export const finish = defineScript({
  name: 'stream-consumer.finish',
  ...finishLua,
  keys: ['stream', 'sessions', 'due', 'tries', 'dead', 'heads', 'unsettled', 'needed[]'],
  args: { group: str, session: str, needs: str, rows: list(str) },
  flags: FREES_MEMORY,
  group: false,
  reply: ([alive, released, buried]: [number, number, number]) => ({ alive: alive === 1, released, buried }),
});

export const retryEntry = defineScript({
  name: 'stream-consumer.retry',
  ...retryLua,
  keys: ['stream', 'sessions', 'due', 'tries', 'woken', 'unsettled'],
  args: {
    group: str,
    session: str,
    id: str,
    attempt: int,
    returned: int,
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
  keys: ['stream', 'sessions', 'takes', 'due', 'tries', 'unsettled'],
  args: { group: str, count: int, problem: str },
  flags: FREES_MEMORY,
  group: false,
  reply: ([taken, more, session]: [number, number, string]) => ({ taken, more: more === 1, session }),
});

export const repairGroup = defineScript({
  name: 'stream-consumer.repair',
  ...repairLua,
  keys: ['stream', 'sessions', 'due', 'heads', 'takes', 'unsettled'],
  args: {
    group: str,
    leaseMs: int,
    count: int,
    pending: str,
    waiting: str,
    parked: str,
    session: str,
    taken: int,
    unsettled: str,
    held: list(str),
  },
  flags: FREES_MEMORY,
  group: false,
  reply: ([repaired, pending, waiting, parked, unsettled, restored, deleted]: [
    number,
    ...[pending: string, waiting: string, parked: string, unsettled: string],
    ...[restored: number, deleted: number],
  ]) => ({
    repaired,
    restored,
    deleted,
    next: { pending, waiting, parked, unsettled },
  }),
});

export const tidyNotes = defineScript({
  name: 'stream-consumer.tidy',
  ...tidyLua,
  keys: ['stream', 'tries', 'heads', 'unsettled'],
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
