import { getTask, listTasks } from '../delayed-task.scripts';
import { type KnownOptions, shown, type Page } from '../../../internal/src';
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

/**
 * Maximum number of times that a change of a schedule is repeated. It must be repeated if another process changed the schedule first, or if
 * the schedule created a task meanwhile.
 */
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
 * The schedules of a queue. A slot is one of the times at which a schedule creates a task. Redis stores a schedule like a task that is due
 * at its next slot. When a worker takes it, one script creates the task of this slot, and makes the schedule due at its next slot.
 */
export class Schedules {
  constructor(
    private readonly queue: TaskQueue,
    private readonly pages: TaskPages,
  ) {}

  /**
   * Creates or changes a schedule. An unchanged schedule stays as it is, so that none of its tasks is skipped. It is stored again only if
   * it waits for a later time than the next one of its rule.
   */
  async upsert(id: string, rule: ScheduleRule, task: ScheduledTask): Promise<{ readonly nextRunAtMs: number }> {
    const stored = storedId(id);
    const checked = checkRule(rule);
    taskInput.object('task', task);
    for (const wrong of ['id', 'delayMs', 'runAtMs']) {
      if (wrong in task)
        throw taskInput.error(
          `The task of the schedule has the option ${wrong}, but the schedule itself decides it. Leave ${wrong} out.`,
        );
    }
    const { name, task: definition, payload, ...settings }: AnyTask = taskInput.options('task', task, KNOWN);
    const record = this.queue.writer.writeSchedule(checked, (definition ?? name) as string, payload, settings);
    const partition = this.queue.partitions.of(stored);
    // Other processes may change the schedule at the same time, or a worker may take it. Then the change is tried again.
    for (let tries = 0; ; tries++) {
      const found = await this.read(stored);
      const next = nextSlot(checked, await this.nowMs(stored));
      // A schedule can wait for too late a time, because Redis' clock was wrong at some time, or because the rules of the time zone have
      // changed.
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
          `Schedule ${shown(id)} was not changed, because other processes changed it at the same time. Repeat the call.`,
        );
    }
  }

  /** Removes a schedule. A task that the schedule has already created stays. @returns true if the schedule existed */
  async remove(id: string): Promise<boolean> {
    return (await this.queue.cancelStored(storedId(id), 'running')) === 'cancelled';
  }

  async get(id: string): Promise<ScheduleView | undefined> {
    const found = await this.read(storedId(id));
    if (found === undefined) return undefined;
    const view = this.viewOf(id, found.atMs, found.record);
    return view && { ...view, nextRunAtMs: await this.nextOf(storedId(id), found, view.rule) };
  }

  /** Returns the name, settings and payload of a schedule's tasks as one text; undefined for an unknown id. */
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

  /**
   * Returns the time of the next task of a schedule, ms since 1970. While a worker creates a task of the schedule, Redis has no due time of
   * the schedule. The next time is then computed from the rule.
   */
  private async nextOf(stored: string, { state, atMs }: Found, rule: ScheduleRule): Promise<number> {
    return state === 'waiting' ? atMs : nextSlot(rule, await this.nowMs(stored));
  }

  /**
   * Returns the time by Redis' clock, ms since 1970, because the clock of this process may be ahead. If `untilMs` is in the future, the
   * script `list` returns this time instead of `untilMs`.
   */
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
