import { defineScript, int, list, str } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../../internal/src';
import {
  cancelLua,
  clearDeadLua,
  deadLettersLua,
  getLua,
  layoutLua,
  rescheduleLua,
  scheduleLua,
  scheduleOneLua,
  statsLua,
} from '../scripts/generated';
import type { DeadRow } from './rows';

/** Most tasks in one call that writes, so that no call blocks Redis for long. */
export const MAX_CHUNK = 100;

// Only the two scripts that schedule are called many times at once by one process, so only their calls are grouped.

/** Statuses of scheduled tasks, by the code that the script returns. */
const SCHEDULED = ['', 'scheduled', 'replaced', 'kept'] as const;

export const scheduleTasks = defineScript({
  name: 'delayed-task.schedule',
  ...scheduleLua,
  keys: ['due', 'leased', 'tasks', 'runs', 'dead', 'waits', 'operation'],
  args: { conflict: str, operationMs: int, tasks: list(str) },
  group: { maxCalls: 64 },
  reply: (codes: number[]) => {
    const answers: { status: 'scheduled' | 'replaced' | 'kept'; runAtMs: number }[] = [];
    for (let i = 0; i + 1 < codes.length; i += 2) {
      const status = SCHEDULED[codes[i] as number] as (typeof answers)[number]['status'];
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
  keys: ['due', 'leased', 'tasks', 'runs', 'dead', 'operation'],
  args: { id: str, from: str, operationMs: int },
  flags: FREES_MEMORY,
  group: false,
  reply: (status: string) => status as 'cancelled' | 'running' | 'dead' | 'unknown',
});

export const rescheduleTask = defineScript({
  name: 'delayed-task.reschedule',
  ...rescheduleLua,
  keys: ['due', 'leased', 'tasks', 'runs', 'dead', 'waits', 'operation'],
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
  keys: ['due', 'leased', 'tasks', 'runs', 'dead', 'result'],
  args: { id: str },
  flags: ['no-writes'],
  group: false,
  reply: ([atMs, state, record, run, result]: [number, string, string, string, string]) => ({
    atMs,
    state: state as 'waiting' | 'running' | 'dead' | 'done' | '',
    record,
    run,
    result,
  }),
});

export const listDead = defineScript({
  name: 'delayed-task.dead-letters',
  ...deadLettersLua,
  keys: ['dead', 'tasks', 'runs'],
  args: { untilMs: int, afterMs: int, afterId: str, limit: int },
  flags: ['no-writes'],
  group: false,
  reply: ([untilMs, ...fields]: [number, ...string[]]) => {
    const rows: DeadRow[] = [];
    for (let i = 0; i + 3 < fields.length; i += 4) {
      const [id = '', deadAtMs, record = '', run = ''] = fields.slice(i, i + 4);
      rows.push({ id, deadAtMs: Number(deadAtMs), record, run });
    }
    return { untilMs, rows };
  },
});

export const clearDead = defineScript({
  name: 'delayed-task.clear-dead',
  ...clearDeadLua,
  keys: ['due', 'tasks', 'runs', 'dead', 'waits', 'operation'],
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

export const noteLayout = defineScript({
  name: 'delayed-task.layout',
  ...layoutLua,
  keys: ['layout'],
  args: { partitions: int, keepMs: int },
  group: false,
  reply: (partitions: number) => partitions,
});

export const queueScripts = [
  scheduleTasks,
  scheduleTask,
  cancelTask,
  rescheduleTask,
  getTask,
  listDead,
  clearDead,
  countTasks,
  noteLayout,
];
