import type { DelayedTaskQueue, DelayedTaskService } from 'luanest/delayed-task';
import type { CONSOLE } from '../../../internal/src';
import type { Address, Sentence } from '../console.types';

/** A queue of the app, as DelayedTaskService passes it to the console. */
export type Queue = ReturnType<DelayedTaskService[typeof CONSOLE]>[number];
export type QueueLook = Awaited<ReturnType<Queue['look']>>;
export type Task = NonNullable<Awaited<ReturnType<DelayedTaskQueue['get']>>>;
type Explained = Awaited<ReturnType<Queue['explain']>>;

/** A queue is late if its first task has been due for more than this time, ms. */
const LATE_MS = 5_000;

export const addressOfQueue = (queue: string): Address => ['queues', 'queues', queue];
export const addressOfTask = (queue: string, id: string): Address => ['queues', 'tasks', queue, id];

/**
 * Returns the numbers of a queue. Most are sums over its partitions. `lateMs` is the highest number of a partition, and `workers`
 * the lowest (-1 if it is unknown).
 */
export function totalOf({ partitions }: QueueLook) {
  const sum = (of: (one: QueueLook['partitions'][number]) => number): number =>
    partitions.reduce((total, one) => total + of(one), 0);
  return {
    waiting: sum(({ waiting }) => waiting),
    overdue: sum(({ overdue }) => overdue),
    running: sum(({ running }) => running),
    dead: sum(({ dead }) => dead),
    ended: sum(({ ended }) => ended),
    lateMs: Math.max(...partitions.map(({ lateMs }) => lateMs)),
    workers: Math.min(...partitions.map(({ listeners }) => listeners)),
  };
}

/**
 * Returns sentences about a queue: the main reason why it does not keep up, then other problems. If there is none, one sentence
 * says so.
 */
export function sentencesOfQueue(queue: string, look: QueueLook): Sentence[] {
  const { overdue, running, dead, ended, lateMs, workers, waiting } = totalOf(look);
  const address = addressOfQueue(queue);
  const sentences: Sentence[] = [];
  if (look.paused) {
    sentences.push({
      code: 'queue-paused',
      text: `The queue ${queue} is paused, so no process takes its tasks.`,
      level: 'warning',
      values: { queue, overdue },
      fix: { action: 'resume', address },
    });
  } else if (workers === 0 && overdue + ended > 0) {
    sentences.push({
      code: 'no-worker',
      text: `No process works on the queue ${queue}. Start one with a handler, or set work to true.`,
      level: 'error',
      values: { queue, overdue },
    });
  } else if (lateMs > LATE_MS) {
    sentences.push({
      code: 'queue-behind',
      text: `The queue ${queue} is behind: ${overdue} tasks are due, and ${running} run. Add processes, or raise concurrency.`,
      level: 'warning',
      values: { queue, overdue, running, lateMs },
    });
  }
  const spent = look.partitions.filter(({ startsLeft }) => startsLeft === 0);
  if (spent.length > 0) {
    const windowLeftMs = Math.max(...spent.map((one) => one.windowLeftMs));
    sentences.push({
      code: 'start-limit',
      text: `The queue ${queue} has started as many tasks as its startLimit allows in this window.`,
      level: 'info',
      values: { queue, windowLeftMs },
    });
  }
  const groups = [...new Set(look.partitions.flatMap(({ pausedGroups }) => pausedGroups))];
  if (groups.length > 0) {
    sentences.push({
      code: 'groups-paused',
      text: `Groups of the queue ${queue} are paused: ${groups.slice(0, 5).join(', ')}${groups.length > 5 ? ', ...' : ''}.`,
      level: 'warning',
      values: { queue, groups: groups.slice(0, 5).join(', ') },
    });
  }
  if (dead > 0) {
    sentences.push({
      code: 'queue-has-dead',
      text: `The queue ${queue} has ${dead} dead letters.`,
      level: 'warning',
      values: { queue, dead },
    });
  }
  if (sentences.length === 0) {
    sentences.push({
      code: 'queue-well',
      text: `The queue ${queue} is on time: ${waiting} tasks wait, and ${running} run.`,
      level: 'ok',
      values: { queue, waiting, running },
    });
  }
  return sentences;
}

/**
 * Returns one sentence that says why a task waits, or how it ended.
 *
 * @param explained undefined if the task neither waits nor runs
 */
export function whyOf(queue: Queue, task: Task, explained: Explained | undefined): Sentence {
  const { id, name, group = '', atMs, attemptsMade, attempts, error } = task;
  const address = addressOfTask(queue.name, id);
  if (task.state === 'done') {
    return { code: 'task-done', text: 'The task is done.', level: 'ok', values: { doneAtMs: atMs } };
  }
  if (task.state === 'dead' || explained === undefined) {
    return {
      code: 'task-dead',
      text: `The task is a dead letter after ${attemptsMade} of ${attempts} attempts: ${error || 'no error is known'}`,
      level: 'error',
      values: { attemptsMade, attempts, error, diedAtMs: atMs },
      fix: { action: 'retry', address },
    };
  }
  const { look, nowMs, paused, worker } = explained;
  const noWorker = look.listeners === 0;
  if (task.state === 'running' && atMs > nowMs) {
    return {
      code: 'task-running',
      text: `The worker ${worker} has leased the task for attempt ${attemptsMade} of ${attempts}, and renews the lease while it works.`,
      level: 'info',
      values: { worker, attemptsMade, attempts, leaseEndsAtMs: atMs },
    };
  }
  if (task.state === 'waiting' && atMs > nowMs) {
    const values = { inMs: atMs - nowMs, dueAtMs: atMs, attemptsMade, attempts, error };
    if (attemptsMade === 0) {
      return { code: 'task-not-due', text: 'The task is not due yet.', level: 'info', values, fix: runNow(address) };
    }
    return {
      code: 'task-waits-for-retry',
      text: `Attempt ${attemptsMade} of ${attempts} failed, and the next one is not due yet: ${error}`,
      level: 'warning',
      values,
      fix: runNow(address),
    };
  }
  const lateMs = nowMs - atMs;
  if (paused) {
    return {
      code: 'task-queue-paused',
      text: `The task is due, but the queue ${queue.name} is paused.`,
      level: 'warning',
      values: { queue: queue.name, lateMs },
      fix: { action: 'resume', address: addressOfQueue(queue.name) },
    };
  }
  if (noWorker) {
    return {
      code: 'task-no-worker',
      text: `The task is due, but no process works on the queue ${queue.name}.`,
      level: 'error',
      values: { queue: queue.name, lateMs },
    };
  }
  if (task.state === 'running') {
    return {
      code: 'task-lease-ended',
      text: 'The worker of the task has died or stood still: its lease has ended, and the next worker takes the task.',
      level: 'warning',
      values: { lateMs, attemptsMade },
    };
  }
  if (explained.isGroupPaused) {
    return {
      code: 'task-group-paused',
      text: `The task is due, but its group ${group} is paused.`,
      level: 'warning',
      values: { group, lateMs },
      fix: { action: 'resume', address: ['queues', 'groups', queue.name, group] },
    };
  }
  if (look.startsLeft === 0) {
    return {
      code: 'task-start-limit',
      text: `The task is due, but the queue ${queue.name} has started as many tasks as its startLimit allows in this window.`,
      level: 'info',
      values: { queue: queue.name, lateMs, windowLeftMs: look.windowLeftMs },
    };
  }
  return limitOf(queue, task, explained, lateMs) ?? behindOf(queue, name, explained, lateMs);
}

function limitOf({ groupLimits }: Queue, { group = '' }: Task, of: Explained, lateMs: number): Sentence | undefined {
  const { groupRunning, groupSpentMs, groupHeldMs, nowMs } = of;
  if (group === '') return undefined;
  if (groupLimits.most > 0 && groupRunning >= groupLimits.most) {
    return {
      code: 'task-group-full',
      text: `The task is due, but ${groupRunning} tasks of its group ${group} run, which is the limit.`,
      level: 'info',
      values: { group, groupRunning, lateMs },
    };
  }
  if (groupLimits.starts > 0 && groupHeldMs > 0 && groupSpentMs > nowMs) {
    return {
      code: 'task-group-rate',
      text: `The task is due, but its group ${group} has started as many tasks as its rate allows.`,
      level: 'info',
      values: { group, lateMs, waitMs: groupHeldMs - nowMs },
    };
  }
  return undefined;
}

function behindOf(queue: Queue, name: string, { ahead, partition, look }: Explained, lateMs: number): Sentence {
  if (ahead > 0) {
    return {
      code: 'task-behind',
      text: `The task is due, but ${ahead} tasks of partition ${partition} come before it.`,
      level: lateMs > LATE_MS ? 'warning' : 'info',
      values: { ahead, partition, running: look.running, lateMs },
    };
  }
  if (lateMs > LATE_MS) {
    return {
      code: 'task-workers-busy',
      text: `The task is the next one of its partition, but all workers of the queue ${queue.name} are busy, or none of them has a handler of ${name}.`,
      level: 'warning',
      values: { queue: queue.name, name, lateMs },
    };
  }
  return { code: 'task-due', text: 'The task is due, and a worker takes it now.', level: 'ok', values: { lateMs } };
}

function runNow(address: Address): NonNullable<Sentence['fix']> {
  return { action: 'run-now', address };
}
