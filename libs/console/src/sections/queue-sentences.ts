import type { DelayedTaskQueue, DelayedTaskService } from 'luanest/delayed-task';
import type { CONSOLE } from '../../../internal/src';
import type { Address, Sentence } from '../console.types';
import { say } from './sentences';

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
 * Returns the numbers of a queue as sums over its partitions. Only `lateMs` is the highest number of a partition, and `workers` the lowest
 * (-1 if it is unknown).
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
    sentences.push(say('queue-paused', { queue, overdue }, { action: 'resume', address }));
  } else if (workers === 0 && overdue + ended > 0) {
    sentences.push(say('no-worker', { queue, overdue }));
  } else if (lateMs > LATE_MS) {
    sentences.push(say('queue-behind', { queue, overdue, running, lateMs }));
  }
  const spent = look.partitions.filter(({ startsLeft }) => startsLeft === 0);
  if (spent.length > 0) {
    const windowLeftMs = Math.max(...spent.map((one) => one.windowLeftMs));
    sentences.push(say('start-limit', { queue, windowLeftMs }));
  }
  const groups = [...new Set(look.partitions.flatMap(({ pausedGroups }) => pausedGroups))];
  if (groups.length > 0) {
    sentences.push(
      say('groups-paused', { queue, groups: `${groups.slice(0, 5).join(', ')}${groups.length > 5 ? ', ...' : ''}` }),
    );
  }
  if (dead > 0) {
    const list = { list: ['queues', 'dead'], filter: `queue:${queue}` };
    sentences.push(say('queue-has-dead', { queue, dead }, { action: 'retry', ...list }));
  }
  if (sentences.length === 0) sentences.push(say('queue-well', { queue, waiting, running }));
  return sentences;
}

/**
 * Returns one sentence that says why a task waits, or how it ended.
 *
 * @param explained what Redis says about a task that waits or runs; undefined for other tasks
 */
export function whyOf(queue: Queue, task: Task, explained: Explained | undefined): Sentence {
  const { id, name, group = '', atMs, attemptsMade, attempts, error } = task;
  const address = addressOfTask(queue.name, id);
  if (task.state === 'done') return say('task-done', { doneAtMs: atMs });
  if (task.state === 'dead' || explained === undefined) {
    return say(
      'task-dead',
      { attemptsMade, attempts, error: error || 'no error is known', diedAtMs: atMs },
      { action: 'retry', address },
    );
  }
  const { look, nowMs, paused, worker } = explained;
  const noWorker = look.listeners === 0;
  if (task.state === 'running' && atMs > nowMs) {
    return say('task-running', { worker, attemptsMade, attempts, leaseEndsAtMs: atMs });
  }
  if (task.state === 'waiting' && atMs > nowMs) {
    const values = { inMs: atMs - nowMs, dueAtMs: atMs, attemptsMade, attempts, error };
    if (attemptsMade === 0) return say('task-not-due', values, runNow(address));
    return say('task-waits-for-retry', values, runNow(address));
  }
  const lateMs = nowMs - atMs;
  if (paused) {
    return say(
      'task-queue-paused',
      { queue: queue.name, lateMs },
      { action: 'resume', address: addressOfQueue(queue.name) },
    );
  }
  if (noWorker) return say('task-no-worker', { queue: queue.name, lateMs });
  if (task.state === 'running') return say('task-lease-ended', { lateMs, attemptsMade });
  if (explained.isGroupPaused) {
    return say(
      'task-group-paused',
      { group, lateMs },
      { action: 'resume', address: ['queues', 'groups', queue.name, group] },
    );
  }
  if (look.startsLeft === 0) {
    return say('task-start-limit', { queue: queue.name, lateMs, windowLeftMs: look.windowLeftMs });
  }
  return limitOf(queue, task, explained, lateMs) ?? behindOf(queue, name, explained, lateMs);
}

function limitOf({ groupLimits }: Queue, { group = '' }: Task, of: Explained, lateMs: number): Sentence | undefined {
  const { groupRunning, groupSpentMs, groupHeldMs, nowMs } = of;
  if (group === '') return undefined;
  if (groupLimits.most > 0 && groupRunning >= groupLimits.most) {
    return say('task-group-full', { group, groupRunning, lateMs });
  }
  if (groupLimits.starts > 0 && groupHeldMs > 0 && groupSpentMs > nowMs) {
    return say('task-group-rate', { group, lateMs, waitMs: groupHeldMs - nowMs });
  }
  return undefined;
}

function behindOf(queue: Queue, name: string, { ahead, partition, look }: Explained, lateMs: number): Sentence {
  if (ahead > 0) {
    return {
      ...say('task-behind', { ahead, partition, running: look.running, lateMs }),
      level: lateMs > LATE_MS ? 'warning' : 'info',
    };
  }
  if (lateMs > LATE_MS) return say('task-workers-busy', { queue: queue.name, name, lateMs });
  return say('task-due', { lateMs });
}

function runNow(address: Address): NonNullable<Sentence['fix']> {
  return { action: 'run-now', address };
}
