import { defineScript, int, list, str } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../internal/src';
import {
  cancelLua,
  clearDeadLua,
  explainLua,
  getLua,
  groupPauseLua,
  layoutLua,
  listLua,
  lookLua,
  pauseLua,
  rescheduleLua,
  scheduleLua,
  scheduleOneLua,
  statsLua,
} from './scripts/generated';
import { workerScripts } from './worker/worker.scripts';

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

// A process may call the next two scripts many times at once, so their calls may be sent together. The other scripts of
// this file are called rarely, so they have `group: false`.

/** Statuses of a scheduled task. The script `schedule` returns an index in this list. */
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
  keys: ['due', 'tasks', 'runs', 'waits', 'operation'],
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

/** Reads the state of a partition for `luanest/console`: numbers of tasks and workers, paused groups, and the rest of `startLimit`. */
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

/** Reads for `luanest/console` why a task waits, or which worker runs it. */
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

/** All scripts of this lib. */
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
  ...workerScripts,
];
