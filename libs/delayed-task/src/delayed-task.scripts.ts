import { defineScript, int, list, str } from 'luanest/script-registry';
import {
  acknowledgeLua,
  cancelLua,
  completeLua,
  deadLettersLua,
  failLua,
  getLua,
  layoutLua,
  releaseLua,
  renewLua,
  rescheduleLua,
  scheduleLua,
  sharedClockLua,
  sharedDueLua,
  sharedRunLua,
  sharedWordsLua,
  sharedWritesLua,
  statsLua,
  sweepLua,
  takeLua,
} from './scripts/generated';
import type { BatchAnswer, DeadRow, TakenTask } from './queue/rows';

/** Work that grows with its arguments goes alone, so that no group holds Redis for long. */
const ALONE = { maxCalls: 1 };
/** A full Redis must still be drained: these scripts release memory, or need next to none. */
const RELEASES = ['allow-oom'] as const;
const CLOCK = sharedClockLua + sharedWritesLua;
const WITH_RUNS = CLOCK + sharedWordsLua + sharedRunLua;

/** Most tasks in one call of a script that takes a list of them; each holds Redis for some microseconds. */
export const MAX_CHUNK = 100;

/** What became of a task that was to be scheduled; the number is what the script answers. */
const SCHEDULED = ['', 'scheduled', 'replaced', 'kept', 'refused'] as const;

export const scheduleTasks = defineScript({
  name: 'delayed-task.schedule',
  source: scheduleLua,
  shared: CLOCK + sharedDueLua,
  keys: ['due', 'leased', 'tasks', 'runs', 'dead', 'waits', 'operation'],
  args: { conflict: str, operationMs: int, tasks: list(str) },
  group: { maxCalls: 64, maxChars: 16_384 },
  reply: (codes: number[]) => {
    const answers: { status: 'scheduled' | 'replaced' | 'kept' | 'refused'; runAt: number }[] = [];
    for (let i = 0; i + 1 < codes.length; i += 2) {
      const status = SCHEDULED[codes[i] as number] as (typeof answers)[number]['status'];
      answers.push({ status, runAt: codes[i + 1] as number });
    }
    return answers;
  },
});

export const takeTasks = defineScript({
  name: 'delayed-task.take',
  source: takeLua,
  shared: WITH_RUNS,
  keys: ['due', 'leased', 'tasks', 'runs', 'dead', 'waits', 'taken'],
  args: { token: str, limit: int, leaseMs: int, markMs: int },
  flags: RELEASES,
  group: ALONE,
  reply: (raw: (number | string)[]) => {
    const tasks: TakenTask[] = [];
    for (let i = 3; i + 3 < raw.length; i += 4) {
      tasks.push({
        id: raw[i] as string,
        record: raw[i + 1] as string,
        attempt: raw[i + 2] as number,
        runAt: raw[i + 3] as number,
      });
    }
    return { now: raw[0] as number, nextAt: raw[1] as number, buried: raw[2] as number, tasks };
  },
});

const batch = ([done, ...others]: [number, ...string[]]): BatchAnswer => ({ done, others });

export const acknowledgeTasks = defineScript({
  name: 'delayed-task.acknowledge',
  source: acknowledgeLua,
  shared: sharedWritesLua,
  keys: ['leased', 'tasks', 'runs'],
  args: { pairs: list(str) },
  flags: RELEASES,
  group: ALONE,
  reply: batch,
});

export const completeTask = defineScript({
  name: 'delayed-task.complete',
  source: completeLua,
  shared: CLOCK,
  keys: ['leased', 'tasks', 'runs', 'result'],
  args: { id: str, token: str, keepMs: int, result: str },
  reply: (done: number) => done === 1,
});

export const failTask = defineScript({
  name: 'delayed-task.fail',
  source: failLua,
  shared: WITH_RUNS,
  keys: ['due', 'leased', 'tasks', 'runs', 'dead', 'waits'],
  args: { id: str, token: str, delayMs: int, bury: int, error: str },
  flags: RELEASES,
  reply: (status: string) => status as 'retried' | 'dead' | 'lost',
});

export const renewTasks = defineScript({
  name: 'delayed-task.renew',
  source: renewLua,
  shared: sharedClockLua,
  keys: ['leased', 'runs'],
  args: { leaseMs: int, pairs: list(str) },
  flags: RELEASES,
  group: ALONE,
  reply: batch,
});

export const releaseTasks = defineScript({
  name: 'delayed-task.release',
  source: releaseLua,
  shared: WITH_RUNS,
  keys: ['due', 'leased', 'runs', 'waits'],
  args: { pairs: list(str) },
  flags: RELEASES,
  group: ALONE,
  reply: batch,
});

export const cancelTask = defineScript({
  name: 'delayed-task.cancel',
  source: cancelLua,
  shared: CLOCK,
  keys: ['due', 'leased', 'tasks', 'runs', 'dead', 'operation'],
  args: { id: str, from: str, operationMs: int },
  flags: RELEASES,
  reply: (status: string) => status as 'cancelled' | 'running' | 'dead' | 'unknown',
});

export const rescheduleTask = defineScript({
  name: 'delayed-task.reschedule',
  source: rescheduleLua,
  shared: CLOCK + sharedDueLua,
  keys: ['due', 'leased', 'tasks', 'runs', 'dead', 'waits', 'operation'],
  args: { id: str, when: str, from: str, operationMs: int },
  reply: ([runAt, status]: [number, string]) => ({
    status: status as 'moved' | 'running' | 'dead' | 'unknown',
    runAt,
  }),
});

export const getTask = defineScript({
  name: 'delayed-task.get',
  source: getLua,
  keys: ['due', 'leased', 'tasks', 'runs', 'dead', 'result'],
  args: { id: str },
  flags: ['no-writes'],
  reply: ([at, state, record, run, result]: [number, string, string, string, string]) => ({
    at,
    state: state as 'waiting' | 'running' | 'dead' | 'done' | '',
    record,
    run,
    result,
  }),
});

export const listDead = defineScript({
  name: 'delayed-task.dead-letters',
  source: deadLettersLua,
  keys: ['dead', 'tasks', 'runs'],
  args: { sinceMs: int, skip: int, limit: int },
  flags: ['no-writes'],
  group: ALONE,
  reply: ([, ...fields]: [number, ...string[]]) => {
    const rows: DeadRow[] = [];
    for (let i = 0; i + 3 < fields.length; i += 4) {
      const [id = '', deadAt, record = '', run = ''] = fields.slice(i, i + 4);
      rows.push({ id, deadAt: Number(deadAt), record, run });
    }
    return rows;
  },
});

export const countTasks = defineScript({
  name: 'delayed-task.stats',
  source: statsLua,
  shared: sharedClockLua,
  keys: ['due', 'leased', 'dead'],
  args: {},
  flags: ['no-writes'],
  reply: ([waiting = 0, overdue = 0, running = 0, dead = 0, lateMs = 0]: number[]) => ({
    waiting,
    overdue,
    running,
    dead,
    lateMs,
  }),
});

export const sweepTasks = defineScript({
  name: 'delayed-task.sweep',
  source: sweepLua,
  shared: CLOCK,
  keys: ['due', 'leased', 'tasks', 'runs', 'dead'],
  args: { retentionMs: int, taskCursor: str, runCursor: str, count: int },
  flags: RELEASES,
  group: ALONE,
  reply: ([expired, restored, dropped, taskCursor, runCursor]: [number, number, number, string, string]) => ({
    expired,
    restored,
    dropped,
    taskCursor,
    runCursor,
  }),
});

export const noteLayout = defineScript({
  name: 'delayed-task.layout',
  source: layoutLua,
  keys: ['layout'],
  args: { partitions: int, keepMs: int },
  reply: (partitions: number) => partitions,
});

/** Every script of this lib, for registration. */
export const delayedTaskScripts = [
  scheduleTasks,
  takeTasks,
  acknowledgeTasks,
  completeTask,
  failTask,
  renewTasks,
  releaseTasks,
  cancelTask,
  rescheduleTask,
  getTask,
  listDead,
  countTasks,
  sweepTasks,
  noteLayout,
];
