import { defineScript, int, list, str } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../internal/src';
import {
  acknowledgeLua,
  broadcastLua,
  cancelLua,
  clearDeadLua,
  completeLua,
  deferLua,
  explainLua,
  failLua,
  fireLua,
  getLua,
  groupPauseLua,
  layoutLua,
  listLua,
  lookLua,
  pauseLua,
  progressLua,
  releaseLua,
  renewLua,
  rescheduleLua,
  scheduleLua,
  scheduleOneLua,
  statsLua,
  sweepLua,
  takeLua,
} from './scripts/generated';

/** A task as the script `take` returns it. */
export interface TakenTask {
  readonly id: string;
  /** Name, settings and payload of the task as one text, as `schedule` stored it. */
  readonly record: string;
  readonly attempt: number;
  /** Time at which this attempt was due, ms since 1970 by Redis' clock. */
  readonly runAtMs: number;
}

/** A task that became a dead letter because its lease ended during its last attempt. */
export interface BuriedTask {
  readonly id: string;
  readonly name: string;
  /** Number of the last attempt. */
  readonly attempt: number;
  readonly group: string | undefined;
}

/** Result of a script that changes several running tasks. */
export interface BatchReply {
  readonly done: number;
  /** Ids of the tasks that were not changed, because they were removed, or another worker has taken them. */
  readonly lost: readonly string[];
}

/** A task as Redis stores it: `record` (name, settings, payload) and `run` (data of its attempts) are texts that must be parsed. */
export interface TaskRow {
  readonly id: string;
  /**
   * When the task is due, when its lease ends, or when it was dead-lettered, ms since 1970. IN_LINE is added if the task waits for other
   * tasks of its group.
   */
  readonly atMs: number;
  readonly record: string;
  readonly run: string;
}

/**
 * Number that is added to the due time of a task while it waits for other tasks of its group. In the sorted set of due times, such tasks
 * then come after all others.
 */
export const IN_LINE = 2 ** 52;

/** Maximum number of tasks that one call of a script changes, because a longer script would block Redis for too long. */
export const MAX_CHUNK = 100;

// A process may call the next two scripts many times at once, so their calls may be sent together. The scripts after them, up to
// `takeTasks`, are called rarely, so they have `group: false`.

/** Status of a scheduled task. The script returns the index. */
const SCHEDULED = ['follows', 'scheduled', 'replaced', 'kept'] as const;

export const scheduleTasks = defineScript({
  name: 'delayed-task.schedule',
  ...scheduleLua,
  keys: ['due', 'lines', 'heads', 'leased', 'tasks', 'runs', 'dead', 'waits', 'operation'],
  args: { conflict: str, operationMs: int, tasks: list(str) },
  group: { maxCalls: 64 },
  reply: (codes: number[]) => {
    const answers: { status: (typeof SCHEDULED)[number]; runAtMs: number }[] = [];
    for (let i = 0; i + 1 < codes.length; i += 2) {
      const status = SCHEDULED[codes[i] as number] as (typeof SCHEDULED)[number];
      answers.push({ status, runAtMs: codes[i + 1] as number });
    }
    return answers;
  },
});

export const scheduleTask = defineScript({
  name: 'delayed-task.schedule-one',
  ...scheduleOneLua,
  keys: ['due', 'tasks', 'waits', 'operation'],
  args: { id: str, when: str, record: str, operationMs: int },
  group: { maxCalls: 64 },
  reply: (runAtMs: number) => runAtMs,
});

export const cancelTask = defineScript({
  name: 'delayed-task.cancel',
  ...cancelLua,
  keys: ['due', 'lines', 'heads', 'leased', 'tasks', 'runs', 'dead', 'operation', 'waits'],
  args: { id: str, from: str, operationMs: int },
  flags: FREES_MEMORY,
  group: false,
  reply: (status: string) => status as 'cancelled' | 'running' | 'dead' | 'unknown',
});

export const rescheduleTask = defineScript({
  name: 'delayed-task.reschedule',
  ...rescheduleLua,
  keys: ['due', 'lines', 'heads', 'leased', 'tasks', 'runs', 'dead', 'waits', 'operation'],
  args: { id: str, when: str, from: str, operationMs: int },
  group: false,
  reply: ([runAtMs, status]: [number, string]) => ({
    status: status as 'moved' | 'running' | 'dead' | 'unknown',
    runAtMs,
  }),
});

export const getTask = defineScript({
  name: 'delayed-task.get',
  ...getLua,
  keys: ['due', 'leased', 'tasks', 'runs', 'dead', 'result', 'progress'],
  args: { id: str },
  flags: ['no-writes'],
  group: false,
  reply: ([atMs, state, record, run, result, progress]: [number, string, string, string, string, string]) => ({
    atMs,
    state: state as 'waiting' | 'running' | 'dead' | 'done' | '',
    record,
    run,
    result,
    progress,
  }),
});

export const listTasks = defineScript({
  name: 'delayed-task.list',
  ...listLua,
  keys: ['place', 'tasks', 'runs'],
  args: { untilMs: int, afterMs: int, afterId: str, limit: int },
  flags: ['no-writes'],
  group: false,
  reply: ([untilMs, ...fields]: [number, ...string[]]) => {
    const rows: TaskRow[] = [];
    for (let i = 0; i + 3 < fields.length; i += 4) {
      const [id = '', atMs, record = '', run = ''] = fields.slice(i, i + 4);
      rows.push({ id, atMs: Number(atMs), record, run });
    }
    return { untilMs, rows };
  },
});

export const clearDead = defineScript({
  name: 'delayed-task.clear-dead',
  ...clearDeadLua,
  keys: ['due', 'lines', 'heads', 'tasks', 'runs', 'dead', 'waits', 'operation'],
  args: { verb: str, name: str, untilMs: int, afterMs: int, afterId: str, limit: int, operationMs: int },
  flags: FREES_MEMORY,
  group: false,
  reply: ([done, untilMs, lastMs, lastId]: [number, number, number, string]) => ({ done, untilMs, lastMs, lastId }),
});

export const countTasks = defineScript({
  name: 'delayed-task.stats',
  ...statsLua,
  keys: ['due', 'leased', 'dead'],
  args: {},
  flags: ['no-writes'],
  group: false,
  reply: ([waiting = 0, overdue = 0, running = 0, dead = 0, lateMs = 0]: number[]) => ({
    waiting,
    overdue,
    running,
    dead,
    lateMs,
  }),
});

/** State of a partition for an operator, for `luanest/console`. */
export const lookAtPartition = defineScript({
  name: 'delayed-task.look',
  ...lookLua,
  keys: ['due', 'leased', 'dead', 'waits', 'starts', 'pauses'],
  args: { most: int, windowMs: int },
  flags: ['no-writes'],
  group: false,
  reply: (raw: (number | string)[]) => {
    const [waiting = 0, overdue = 0, running = 0, dead = 0, lateMs = 0] = raw as number[];
    const [ended = 0, listeners = -1, startsLeft = -1, windowLeftMs = 0] = raw.slice(5, 9) as number[];
    const pausedGroups = raw.slice(9) as string[];
    return { waiting, overdue, running, dead, lateMs, ended, listeners, startsLeft, windowLeftMs, pausedGroups };
  },
});

type Explanation = [number, number, number, number, number, number, string];

/** Reasons why a task waits, for `luanest/console`. */
export const explainTask = defineScript({
  name: 'delayed-task.explain',
  ...explainLua,
  keys: ['due', 'heads', 'tasks', 'lines', 'pauses', 'places', 'rates', 'runs'],
  args: { id: str },
  flags: ['no-writes'],
  group: false,
  reply: ([nowMs, ahead, paused, groupRunning, groupSpentMs, groupHeldMs, token]: Explanation) => ({
    nowMs,
    ahead,
    isGroupPaused: paused === 1,
    groupRunning,
    groupSpentMs,
    groupHeldMs,
    token,
  }),
});

export const noteLayout = defineScript({
  name: 'delayed-task.layout',
  ...layoutLua,
  keys: ['layout'],
  args: { partitions: int, keepMs: int },
  group: false,
  reply: (partitions: number) => partitions,
});

export const pauseQueue = defineScript({
  name: 'delayed-task.pause',
  ...pauseLua,
  keys: ['paused'],
  args: { action: str },
  // This script runs even if the memory of Redis is full, because a worker must still be able to find out if the queue is paused.
  flags: FREES_MEMORY,
  group: false,
  reply: (paused: number) => paused === 1,
});

export const pauseGroup = defineScript({
  name: 'delayed-task.group-pause',
  ...groupPauseLua,
  keys: ['due', 'heads', 'pauses', 'waits'],
  args: { group: str, action: str },
  flags: FREES_MEMORY,
  group: false,
  reply: (paused: number) => paused === 1,
});

// A process may finish many tasks at once with `complete` and `fail`, one per call, so these calls may be sent together. The other scripts
// handle up to 100 tasks in one call, or are called rarely.

const batch = ([done, ...lost]: [number, ...string[]]): BatchReply => ({ done, lost });

export const takeTasks = defineScript({
  name: 'delayed-task.take',
  ...takeLua,
  keys: [
    'due',
    'lines',
    'heads',
    'leased',
    'tasks',
    'runs',
    'dead',
    'waits',
    'taken',
    'starts',
    'pauses',
    'places',
    'rates',
  ],
  args: {
    token: str,
    limit: int,
    leaseMs: int,
    most: int,
    windowMs: int,
    groupMost: int,
    groupStarts: int,
    groupWindowMs: int,
    ended: list(str),
  },
  flags: FREES_MEMORY,
  group: false,
  reply: (raw: (number | string)[]) => {
    const buried: BuriedTask[] = [];
    const tasks: TakenTask[] = [];
    const end = raw.length - 4 * (raw[2] as number);
    for (let i = end; i < raw.length; i += 4) {
      const group = raw[i + 3] === '' ? undefined : (raw[i + 3] as string);
      buried.push({ id: raw[i] as string, name: raw[i + 1] as string, attempt: raw[i + 2] as number, group });
    }
    for (let i = 3; i < end; i += 4) {
      tasks.push({
        id: raw[i] as string,
        record: raw[i + 1] as string,
        attempt: raw[i + 2] as number,
        runAtMs: raw[i + 3] as number,
      });
    }
    return { now: raw[0] as number, nextAt: raw[1] as number, buried, tasks };
  },
});

export const acknowledgeTasks = defineScript({
  name: 'delayed-task.acknowledge',
  ...acknowledgeLua,
  keys: ['leased', 'tasks', 'runs', 'waits'],
  args: { pairs: list(str) },
  flags: FREES_MEMORY,
  group: false,
  reply: batch,
});

export const completeTask = defineScript({
  name: 'delayed-task.complete',
  ...completeLua,
  keys: ['leased', 'tasks', 'runs', 'waits', 'result'],
  args: { id: str, token: str, keepMs: int, result: str },
  reply: (done: number) => done === 1,
});

export const failTask = defineScript({
  name: 'delayed-task.fail',
  ...failLua,
  keys: ['due', 'leased', 'tasks', 'runs', 'dead', 'waits'],
  args: { id: str, token: str, delayMs: int, verdict: str, error: str },
  flags: FREES_MEMORY,
  reply: (status: string) => status as 'retried' | 'dead' | 'lost',
});

export const storeProgress = defineScript({
  name: 'delayed-task.progress',
  ...progressLua,
  keys: ['runs', 'progress'],
  args: { id: str, token: str, keepMs: int, value: str },
  group: false,
  reply: (stored: number) => stored === 1,
});

export const fireSchedule = defineScript({
  name: 'delayed-task.fire',
  ...fireLua,
  keys: ['due', 'lines', 'heads', 'leased', 'tasks', 'runs', 'waits'],
  args: { id: str, token: str, taskId: str, record: str, slotMs: int, nextMs: int },
  group: false,
  reply: (status: string) => status as 'fired' | 'lost',
});

export const renewTasks = defineScript({
  name: 'delayed-task.renew',
  ...renewLua,
  keys: ['leased', 'runs'],
  args: { leaseMs: int, pairs: list(str) },
  flags: FREES_MEMORY,
  group: false,
  reply: batch,
});

export const releaseTasks = defineScript({
  name: 'delayed-task.release',
  ...releaseLua,
  keys: ['due', 'leased', 'runs', 'waits'],
  args: { pairs: list(str) },
  flags: FREES_MEMORY,
  group: false,
  reply: batch,
});

export const deferTasks = defineScript({
  name: 'delayed-task.defer',
  ...deferLua,
  keys: ['due', 'leased', 'runs', 'dead', 'waits'],
  args: { longestMs: int, share: int, error: str, pairs: list(str) },
  flags: FREES_MEMORY,
  group: false,
  reply: (codes: number[]) => codes,
});

export const sweepTasks = defineScript({
  name: 'delayed-task.sweep',
  ...sweepLua,
  keys: ['due', 'lines', 'heads', 'leased', 'tasks', 'runs', 'dead', 'waits'],
  args: { retentionMs: int, leaseMs: int, taskCursor: str, runCursor: str, count: int },
  flags: FREES_MEMORY,
  group: false,
  reply: ([expired, restored, dropped, taskCursor, runCursor]: [number, number, number, string, string]) => ({
    expired,
    restored,
    dropped,
    taskCursor,
    runCursor,
  }),
});

export const broadcastEvents = defineScript({
  name: 'delayed-task.broadcast',
  ...broadcastLua,
  keys: ['events'],
  args: { messages: list(str) },
  flags: FREES_MEMORY,
  group: false,
  reply: ([listeners]: [number]) => listeners,
});

export const delayedTaskScripts = [
  scheduleTasks,
  scheduleTask,
  cancelTask,
  rescheduleTask,
  getTask,
  listTasks,
  clearDead,
  countTasks,
  lookAtPartition,
  explainTask,
  noteLayout,
  pauseQueue,
  pauseGroup,

  takeTasks,
  acknowledgeTasks,
  completeTask,
  failTask,
  storeProgress,
  fireSchedule,
  renewTasks,
  releaseTasks,
  deferTasks,
  sweepTasks,
  broadcastEvents,
];
