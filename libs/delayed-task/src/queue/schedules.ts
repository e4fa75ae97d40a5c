import type { Page } from '../../../worker/src';
import { getTask, listTasks } from '../delayed-task.scripts';
import { type KnownOptions, shown } from '../../../internal/src';
import type {
  DueTime,
  ScheduledTask,
  ScheduleOptions,
  ScheduleRule,
  ScheduleView,
  TaskDefinition,
} from '../delayed-task.types';
import { checkRule, nextSlot } from './slots';
import { scheduleIdOf, storedId, taskInput } from './task-codec';
import { NEVER_MS, type TaskPages } from './task-pages';
import type { TaskQueue } from './task-queue';

/** Maximum number of tries of a change, if another change or the next slot comes first each time. */
const MOST_TRIES = 20;

type AnyTask = Omit<ScheduleOptions, keyof DueTime | 'id' | 'operationId' | 'operationRetentionMs' | 'onConflict'> & {
  name?: string;
  task?: TaskDefinition;
  payload?: unknown;
};
const KNOWN: KnownOptions<AnyTask> = {
  name: true,
  task: true,
  payload: true,
  queue: true,
  group: true,
  attempts: true,
  backoff: true,
  keepResultMs: true,
};

/**
 * The schedules of a queue. A schedule is stored like a task that is due at the next slot. The worker that takes it schedules the task
 * of that slot, and makes the schedule due again, in one script.
 */
export class Schedules {
  constructor(
    private readonly queue: TaskQueue,
    private readonly pages: TaskPages,
  ) {}

  /** Makes or changes a schedule. One that is the same stays as it is, so that no slot is lost, unless it waits beyond its next slot. */
  async upsert(id: string, rule: ScheduleRule, task: ScheduledTask): Promise<{ readonly nextRunAtMs: number }> {
    const stored = storedId(id);
    const checked = checkRule(rule);
    taskInput.object('task', task);
    for (const wrong of ['id', 'delayMs', 'runAtMs']) {
      if (wrong in task) throw taskInput.error(`task has ${wrong}, which the schedule decides. Leave it out.`);
    }
    const { name, task: definition, payload, ...settings }: AnyTask = taskInput.options('task', task, KNOWN);
    const record = this.queue.writer.writeSchedule(checked, (definition ?? name) as string, payload, settings);
    const partition = this.queue.partitions.of(stored);
    // Other processes may change it at the same time, and its slot may come meanwhile.
    for (let tries = 0; ; tries++) {
      const found = await this.read(stored);
      const next = nextSlot(checked, await this.nowMs(stored));
      // One that waits beyond its next slot was made due while the clock of Redis was wrong, or before the time zone was changed.
      if (found?.record.startsWith(`${record}\n`) && !(found.state === 'waiting' && found.atMs > next)) {
        return { nextRunAtMs: found.state === 'waiting' ? found.atMs : next };
      }
      const conflict = found === undefined ? 'keep' : 'replace';
      const [{ status, runAtMs } = { status: 'kept', runAtMs: 0 }] = await this.queue.send(partition, conflict, [
        stored,
        `a${next}`,
        record,
      ]);
      if (status !== 'kept') return { nextRunAtMs: runAtMs };
      if (tries === MOST_TRIES)
        throw taskInput.error(
          `schedule ${shown(id)} was not changed, because other changes came first each time. Call it again.`,
        );
    }
  }

  /** @returns true if there was one. Its task that waits or runs stays */
  async remove(id: string): Promise<boolean> {
    return (await this.queue.cancelStored(storedId(id), 'running')) === 'cancelled';
  }

  async get(id: string): Promise<ScheduleView | undefined> {
    const found = await this.read(storedId(id));
    if (found === undefined) return undefined;
    const view = this.viewOf(id, found.atMs, found.record);
    return view && { ...view, nextRunAtMs: await this.nextOf(storedId(id), found, view.rule) };
  }

  /** Returns the record of the tasks of a schedule; undefined for an unknown id. */
  async recordOf(id: string): Promise<string | undefined> {
    const found = await this.read(storedId(id));
    return found && this.queue.reader.read(found.record).schedule?.record;
  }

  list(limit: number, cursor: string | undefined): Promise<Page<ScheduleView>> {
    return this.pages.page('due', limit, cursor, ({ id: stored, atMs, record }) => {
      const id = scheduleIdOf(stored);
      return id === undefined ? undefined : this.viewOf(id, atMs, record);
    });
  }

  private async read(stored: string) {
    const { due, leased, tasks, runs, dead, result, progress } = this.queue.partitions.of(stored);
    const keys = { due, leased, tasks, runs, dead, result: result(stored), progress: progress(stored) };
    const found = await this.queue.registry.run(getTask, { keys, args: { id: stored } });
    return found.record === '' ? undefined : found;
  }

  private viewOf(id: string, nextRunAtMs: number, record: string): ScheduleView | undefined {
    const { schedule, name, group, payload } = this.queue.reader.read(record);
    return schedule && { id, rule: schedule.rule, name, group, payload: JSON.parse(payload), nextRunAtMs };
  }

  /** Returns when the next task is due. While a worker has the schedule, that is the slot after the one that it schedules. */
  private async nextOf(stored: string, { state, atMs }: Found, rule: ScheduleRule): Promise<number> {
    return state === 'waiting' ? atMs : nextSlot(rule, await this.nowMs(stored));
  }

  /** Returns the time of Redis: a range of `list` ends there. A later slot has no task yet, even if the clock of this process is ahead. */
  private async nowMs(stored: string): Promise<number> {
    const { due, tasks, runs } = this.queue.partitions.of(stored);
    const args = { untilMs: NEVER_MS, afterMs: NEVER_MS, afterId: '', limit: 1 };
    return (await this.queue.registry.run(listTasks, { keys: { place: due, tasks, runs }, args })).untilMs;
  }
}

interface Found {
  readonly state: string;
  readonly atMs: number;
  readonly record: string;
}
