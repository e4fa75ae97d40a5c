import type { Page } from '../../../internal/src';
import { limitsOf, type ResolvedDelayedTaskOptions } from '../delayed-task.options';
import type { DelayedTaskQueue } from '../delayed-task.queue';
import { explainTask, lookAtPartition } from '../delayed-task.scripts';
import type { ScheduleResult } from '../delayed-task.types';
import type { QueueParts } from './queue-parts';
import { checkId, scheduleIdOf, slotId } from './task-codec';

/** State of a partition: numbers of tasks, paused groups, and how many tasks `startLimit` still allows to start. */
export type PartitionLook = Awaited<ReturnType<typeof lookAt>>;

/** Result of `explain`: what a task waits for, or which worker runs it. */
export interface TaskExplanation extends Omit<Awaited<ReturnType<typeof explain>>, 'token'> {
  readonly partition: number;
  readonly look: PartitionLook;
  readonly paused: boolean;
  /** Id of the last worker that took the task; '' if no worker has taken it yet. */
  readonly worker: string;
}

/** A task that a worker is running. */
export interface LeasedTask {
  readonly id: string;
  readonly name: string;
  readonly group: string | undefined;
  readonly attempt: number;
  readonly attempts: number;
  /** When the lease of the task ends, ms since 1970 by Redis' clock. */
  readonly leaseEndsAtMs: number;
  /** When the attempt was due, ms since 1970 by Redis' clock. */
  readonly runAtMs: number;
  /** Id of the worker. A process has its own id for each queue. */
  readonly worker: string;
}

/** Functions of a queue for `luanest/console`. */
export class QueueConsole {
  readonly name: string;

  constructor(
    private readonly parts: QueueParts,
    readonly queue: DelayedTaskQueue,
  ) {
    this.name = parts.options.namespace;
  }

  get options(): Pick<ResolvedDelayedTaskOptions, 'partitions' | 'startLimit' | 'groupLimits' | 'leaseMs'> {
    return this.parts.options;
  }

  /**
   * Limits of a group in one partition: `most` tasks may run at the same time, and `starts` tasks may start in `windowMs`, ms. 0: no limit.
   */
  get groupLimits(): { readonly most: number; readonly starts: number; readonly windowMs: number } {
    const { groupMost, groupStarts, groupWindowMs } = limitsOf(this.parts.options);
    return { most: groupMost, starts: groupStarts, windowMs: groupWindowMs };
  }

  /** Returns true if this process has a handler for the tasks of a name. */
  handles(name: string): boolean {
    return this.parts.handlers.of(name) !== undefined;
  }

  /** Reads the state of each partition, and whether the queue is paused. @throws the errors of ScriptRegistry.run() */
  async look(): Promise<{ readonly paused: boolean; readonly partitions: readonly PartitionLook[] }> {
    const { tasks } = this.parts;
    const looks = tasks.partitions.all.map((_, index) => lookAt(this.parts, index));
    const [paused, partitions] = await Promise.all([tasks.pause('read'), Promise.all(looks)]);
    return { paused, partitions };
  }

  /** Reads what a task waits for, or which worker runs it. @throws InvalidInputError; the errors of ScriptRegistry.run() */
  async explain(id: string): Promise<TaskExplanation> {
    const { index } = this.parts.tasks.partitions.of(checkId(id));
    const [paused, look, { token, ...explained }] = await Promise.all([
      this.parts.tasks.pause('read'),
      lookAt(this.parts, index),
      explain(this.parts, id),
    ]);
    return { partition: index, paused, look, ...explained, worker: workerOf(token) };
  }

  /** Returns a page of the running tasks, with their workers. `limit`, `cursor` and the errors are those of `DelayedTaskQueue.list`. */
  leases(limit: number, cursor: string | undefined): Promise<Page<LeasedTask>> {
    const { pages, tasks } = this.parts;
    return pages.page('leased', limit, cursor, ({ id, atMs, record, run }) => {
      const [attempt = '0', , token = '', due = '0'] = run.split(' ');
      if (atMs === 0 || scheduleIdOf(id) !== undefined) return undefined;
      const { name, group, attempts } = tasks.reader.read(record);
      const of = { id, name, group, attempts, attempt: Number(attempt), runAtMs: Number(due) };
      return { ...of, leaseEndsAtMs: atMs, worker: workerOf(token) };
    });
  }

  /**
   * Creates one more task of a schedule, due now. The times of the schedule do not change.
   *
   * @param nowMs current time, ms since 1970, which becomes part of the task's id
   * @returns undefined for an unknown schedule
   * @throws InvalidInputError; the errors of ScriptRegistry.run()
   */
  async runSchedule(id: string, nowMs: number): Promise<ScheduleResult | undefined> {
    const record = await this.parts.schedules.recordOf(id);
    if (record === undefined) return undefined;
    const { tasks } = this.parts;
    const taskId = slotId(id, nowMs);
    const [result] = await tasks.send(tasks.partitions.of(taskId), 'keep', [taskId, 'd0', record]);
    return result && { id: taskId, ...result };
  }
}

/** Returns the id of the worker that leased a task: the first 16 characters of the token of the lease. */
function workerOf(token: string): string {
  return token.slice(0, 16);
}

function lookAt({ tasks, options }: QueueParts, index: number) {
  const { due, leased, dead, waits, starts, pauses } = tasks.partitions.at(index);
  const { most, windowMs } = limitsOf(options);
  return tasks.registry.run(lookAtPartition, {
    keys: { due, leased, dead, waits, starts, pauses },
    args: { most, windowMs },
  });
}

function explain({ tasks }: QueueParts, id: string) {
  const { due, heads, tasks: records, lines, pauses, places, rates, runs } = tasks.partitions.of(id);
  return tasks.registry.run(explainTask, {
    keys: { due, heads, tasks: records, lines, pauses, places, rates, runs },
    args: { id },
  });
}
