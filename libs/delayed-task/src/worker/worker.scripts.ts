import { defineScript, int, list, str } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../../internal/src';
import {
  acknowledgeLua,
  completeLua,
  deferLua,
  failLua,
  releaseLua,
  renewLua,
  sweepLua,
  takeLua,
} from '../scripts/generated';
import type { BatchReply, BuriedTask, TakenTask } from '../queue/rows';

// `complete` and `fail` settle one task a call, and a process may settle many at once, so their calls are grouped. The others take up
// to 100 tasks in one call, or are called rarely.

const batch = ([done, ...lost]: [number, ...string[]]): BatchReply => ({ done, lost });

export const takeTasks = defineScript({
  name: 'delayed-task.take',
  ...takeLua,
  keys: ['due', 'leased', 'tasks', 'runs', 'dead', 'waits', 'taken'],
  args: { token: str, limit: int, leaseMs: int },
  flags: FREES_MEMORY,
  group: false,
  reply: (raw: (number | string)[]) => {
    const buried: BuriedTask[] = [];
    const tasks: TakenTask[] = [];
    const end = raw.length - 3 * (raw[2] as number);
    for (let i = end; i < raw.length; i += 3) {
      buried.push({ id: raw[i] as string, name: raw[i + 1] as string, attempt: raw[i + 2] as number });
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
  keys: ['leased', 'tasks', 'runs'],
  args: { pairs: list(str) },
  flags: FREES_MEMORY,
  group: false,
  reply: batch,
});

export const completeTask = defineScript({
  name: 'delayed-task.complete',
  ...completeLua,
  keys: ['leased', 'tasks', 'runs', 'result'],
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
  keys: ['due', 'leased', 'tasks', 'runs', 'dead', 'waits'],
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

export const workerScripts = [
  takeTasks,
  acknowledgeTasks,
  completeTask,
  failTask,
  renewTasks,
  releaseTasks,
  deferTasks,
  sweepTasks,
];
