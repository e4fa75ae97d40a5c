import { defineScript, int, list, str } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../../internal/src';
import {
  announceLua,
  dropDeadLua,
  findMessageLua,
  listConsumersLua,
  listDeadForeignFieldsLua,
  listDeadLua,
  listGroupsLua,
  pauseLua,
  publishLua,
  purgeLua,
  readConfigLua,
  removeGroupLua,
  replayDeadLua,
  replayRangeLua,
  statsLua,
  withdrawLua,
} from '../scripts/generated';

export const publishMessage = defineScript({
  name: 'stream-consumer.publish',
  ...publishLua,
  keys: ['stream', 'woken', 'operation'],
  args: { payload: str, key: str, name: str, retainMs: int, maxLength: int },
  reply: ([status, id]: [number, string]) => ({ status, id }),
});

export const announcePartitions = defineScript({
  name: 'stream-consumer.announce',
  ...announceLua,
  keys: ['config'],
  args: { partitions: int, group: str, paused: int, atEnd: int },
  flags: FREES_MEMORY,
  group: false,
  reply: ([partitions, paused, atEnd, ...names]: [number, number, number, ...string[]]) => ({
    partitions,
    atEnd,
    paused: names.slice(0, paused),
    groups: names.slice(paused),
  }),
});

export const pauseGroup = defineScript({
  name: 'stream-consumer.pause',
  ...pauseLua,
  keys: ['config'],
  args: { group: str, action: str },
  flags: FREES_MEMORY,
  group: false,
  reply: ([paused]: [number]) => paused === 1,
});

export const withdrawGroup = defineScript({
  name: 'stream-consumer.withdraw',
  ...withdrawLua,
  keys: ['config'],
  args: { group: str },
  flags: FREES_MEMORY,
  group: false,
  reply: ([withdrawn]: [number]) => withdrawn === 1,
});

export const listGroups = defineScript({
  name: 'stream-consumer.list-groups',
  ...listGroupsLua,
  keys: ['stream'],
  args: {},
  flags: ['no-writes'],
  group: false,
  reply: (names: string[]) => names,
});

export const readStats = defineScript({
  name: 'stream-consumer.stats',
  ...statsLua,
  keys: ['stream', 'sessions', 'due', 'dead', 'unsettled'],
  args: { group: str },
  flags: ['no-writes'],
  group: false,
  reply: (raw: number[]) => {
    const [length = 0, pending = 0, lag = 0, oldestMs = -1, due = 0, parked = 0, dead = 0, sessions = 0] = raw;
    return { length, pending, lag, oldestMs, due, parked, dead, sessions };
  },
});

export const listDead = defineScript({
  name: 'stream-consumer.list-dead',
  ...listDeadLua,
  keys: ['dead'],
  args: { after: str, until: str, count: int },
  flags: ['no-writes'],
  group: false,
  reply: (rows: string[]) => rows,
});

/** Lists dead letters of a stream that another program writes. The payload consists of all fields of an entry, packed as bytes. */
export const listDeadForeign = defineScript({
  name: 'stream-consumer.list-dead-foreign',
  ...listDeadForeignFieldsLua,
  keys: ['dead'],
  args: { after: str, until: str, count: int },
  flags: ['no-writes'],
  group: false,
  replyBytes: true,
  reply: (rows: Buffer[]) => rows,
});

export const replayDead = defineScript({
  name: 'stream-consumer.replay-dead',
  ...replayDeadLua,
  keys: ['dead', 'stream', 'woken'],
  args: { group: str, ids: list(str) },
  group: false,
  reply: ([replayed]: [number]) => replayed,
});

export const replayRange = defineScript({
  name: 'stream-consumer.replay-range',
  ...replayRangeLua,
  keys: ['stream', 'unsettled', 'woken', 'operation'],
  args: { group: str, after: str, until: str, size: int, limit: int, retainMs: int },
  group: false,
  reply: ([state, replayed, after]: [number, number, string]) => ({
    state: (['end', 'more', 'no-group'] as const)[state] ?? 'end',
    replayed,
    after,
  }),
});

export const dropDead = defineScript({
  name: 'stream-consumer.drop-dead',
  ...dropDeadLua,
  keys: ['dead', 'woken'],
  args: { ids: list(str) },
  flags: FREES_MEMORY,
  group: false,
  reply: ([dropped]: [number]) => dropped,
});

export const purgeStream = defineScript({
  name: 'stream-consumer.purge',
  ...purgeLua,
  keys: ['stream', 'needed[]'],
  args: { after: str, passed: int, size: int, needs: str, count: int, bytes: int, ageMs: int },
  flags: FREES_MEMORY,
  group: false,
  reply: ([deleted, after, passed]: [number, string, number]) => ({ deleted, next: { after, passed } }),
});

export const removeGroup = defineScript({
  name: 'stream-consumer.remove-group',
  ...removeGroupLua,
  keys: ['stream', 'sessions', 'takes', 'due', 'tries', 'heads', 'dead', 'unsettled'],
  args: { group: str },
  flags: FREES_MEMORY,
  group: false,
  reply: ([removed]: [number]) => removed === 1,
});

/** Reads the partitions and groups of a stream without storing anything, for `luanest/console`. */
export const readConfig = defineScript({
  name: 'stream-consumer.read-config',
  ...readConfigLua,
  keys: ['config'],
  args: {},
  flags: ['no-writes'],
  group: false,
  reply: ([partitions, paused, ...names]: [number, number, ...string[]]) => ({
    partitions,
    paused: names.slice(0, paused),
    groups: names.slice(paused),
  }),
});

/** Lists who holds messages of a partition, for `luanest/console`. */
export const listConsumers = defineScript({
  name: 'stream-consumer.list-consumers',
  ...listConsumersLua,
  keys: ['stream', 'sessions', 'woken'],
  args: { group: str, count: int },
  flags: ['no-writes'],
  group: false,
  reply: ([listeners, nowMs, ...rows]: [number, number, ...string[]]) => {
    const consumers: { name: string; leaseEndsAtMs: number; pending: number }[] = [];
    for (let i = 0; i + 2 < rows.length; i += 3) {
      const [name = '', leaseEndsAtMs, pending] = rows.slice(i, i + 3);
      consumers.push({ name, leaseEndsAtMs: Number(leaseEndsAtMs), pending: Number(pending) });
    }
    return { listeners, nowMs, consumers };
  },
});

type Found = [number, string, string, number, number, number, number, string, string, ...string[]];

/** Reads a message and what a group has done with it, for `luanest/console`. */
export const findMessage = defineScript({
  name: 'stream-consumer.find-message',
  ...findMessageLua,
  keys: ['stream', 'sessions', 'due', 'tries', 'dead'],
  args: { group: str, id: str, most: int },
  flags: ['no-writes'],
  group: false,
  reply: ([nowMs, state, consumer, leaseEndsAtMs, dueAtMs, deliveries, attempts, error, dead, ...fields]: Found) => ({
    nowMs,
    state: state as 'unread' | 'held' | 'waiting' | 'parked' | 'settled' | 'dead' | '',
    consumer,
    leaseEndsAtMs,
    dueAtMs,
    deliveries,
    attempts,
    error,
    dead,
    fields,
  }),
});

export const streamScripts = [
  publishMessage,
  announcePartitions,
  pauseGroup,
  withdrawGroup,
  listGroups,
  readStats,
  listDead,
  listDeadForeign,
  replayDead,
  replayRange,
  dropDead,
  purgeStream,
  removeGroup,
  readConfig,
  listConsumers,
  findMessage,
];
