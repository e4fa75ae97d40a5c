import { defineScript, int, list, str } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../../internal/src';
import {
  acknowledgeLua,
  broadcastLua,
  completeLua,
  deferLua,
  failLua,
  fireLua,
  progressLua,
  releaseLua,
  renewLua,
  sweepLua,
  takeLua,
} from '../scripts/generated';

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
  /** Places in `pairs`, from 0, of the tasks that were not changed, because they were removed or replaced, or another worker has them. */
  readonly lost: readonly number[];
}

// A process may finish many tasks at once with `complete` and `fail`, one per call, so these calls may be sent together. The other scripts
// of this file handle up to 100 tasks in one call, or are called rarely, so they have `group: false`.

const batch = ([done, ...lost]: [number, ...number[]]): BatchReply => ({ done, lost });

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

/** Scripts that only workers call. */
export const workerScripts = [
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
