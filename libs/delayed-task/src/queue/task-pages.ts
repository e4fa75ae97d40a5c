import { listTasks, type TaskRow } from '../delayed-task.scripts';
import type { TaskView } from '../delayed-task.types';
import { Steps, type Page } from '../../../internal/src';
import {
  checkGroup,
  checkName,
  groupDueMs,
  readRun,
  RecordReader,
  scheduleIdOf,
  taskInput,
  type TaskRecord,
} from './task-codec';
import type { TaskQueue } from './task-queue';

/** Time that is later than all due times, ms since 1970. */
export const NEVER_MS = 10 ** 15 - 1;
const NO_END = -1;
/** Maximum number of tasks that one call of the script `list` reads, and that one page reads in all, also those that its filter omits. */
const [MOST_ROWS, MOST_LOOKED_AT] = [256, 2_048];
/** Maximum number of times that `cancelAll` goes through all tasks. Twice is usually enough. */
const MOST_PASSES = 10;
// A cursor has the form <partition>.<untilMs>.<afterMs>.<afterId in base64url>. See DECISIONS.md: dead-letter-cursor
const CURSOR = /^(\d{1,3})\.(-1|\d{1,15})\.(\d{1,16})\.([\w-]{0,1100})$/;

/**
 * Sorted set in which the tasks of a page are. `ended` is a part of the set `leased`: tasks with `onConflict: 'after'` that waited for an
 * attempt which has ended. They have the time 0.
 */
type Place = 'due' | 'leased' | 'ended' | 'dead';
const PLACES: Readonly<Record<'waiting' | 'running' | 'dead', Place>> = {
  waiting: 'due',
  running: 'leased',
  dead: 'dead',
};

/**
 * Where the next page begins and ends in a partition. It begins after the task `afterId`, whose time is `afterMs`; if `afterId` is '', with
 * the first task at `afterMs`. It ends with the last task at `untilMs`. Both are ms since 1970.
 */
export interface Position {
  readonly partition: number;
  readonly untilMs: number;
  readonly afterMs: number;
  readonly afterId: string;
}

/** Options of `DelayedTaskQueue.list`. */
export interface ListOptions {
  readonly state: 'waiting' | 'running' | 'dead';
  readonly name?: string;
  readonly group?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

/** Selects tasks that meet all conditions. */
export interface TaskFilter {
  readonly name?: string;
  readonly group?: string;
}

/** Reads the tasks of a queue page by page. */
export class TaskPages {
  private readonly reader = new RecordReader();

  constructor(private readonly queue: TaskQueue) {}

  /** Returns a page of the tasks in a state. */
  async list(options: ListOptions): Promise<Page<TaskView>> {
    const known = { state: true, name: true, group: true, limit: true, cursor: true } as const;
    const { state, limit = 100, cursor, ...filter } = taskInput.options('', options, known);
    taskInput.choice('state', state, Object.keys(PLACES));
    const selects = selectorOf(filter);
    return this.page(PLACES[state], limit, cursor, ({ id, atMs: raw, record, run }) => {
      const task = this.reader.read(record);
      if (task.schedule !== undefined || !selects(task) || (state === 'running' && raw === 0)) return undefined;
      const { attemptsMade, error } = readRun(run);
      const { name, group, attempts, payload } = task;
      const atMs = state === 'waiting' && group !== undefined ? groupDueMs(record, run, raw) : raw;
      const data = { payload: JSON.parse(payload) as unknown, result: undefined, progress: undefined };
      return { id, state, name, group, ...data, atMs, attemptsMade, attempts, error };
    });
  }

  /** Removes the waiting tasks that a filter selects. @returns the number of removed tasks */
  async cancelAll(filter: TaskFilter): Promise<number> {
    const selects = selectorOf(taskInput.in('filter').options('', filter, { name: true, group: true }));
    const steps = new Steps(
      'DelayedTaskService.cancelAll',
      'Repeat the call: it continues with the tasks that are left.',
    );
    let count = 0;
    // When the first task of a group is removed, the next one takes its position. It may then be on a page that was read already, so
    // another pass is needed.
    for (let pass = 0, before = -1; pass < MOST_PASSES && count > before; pass++) {
      before = count;
      count += await this.cancelPass(selects, steps);
    }
    return count;
  }

  private async cancelPass(selects: (task: TaskRecord) => boolean, steps: Steps): Promise<number> {
    let count = 0;
    for (const place of ['due', 'ended'] as const) {
      let cursor: string | undefined;
      do {
        const { items, nextCursor } = await steps.read(
          this.page(place, MOST_ROWS, cursor, ({ id, record }) =>
            scheduleIdOf(id) === undefined && selects(this.reader.read(record)) ? id : undefined,
          ),
        );
        const results = await steps.all(items.map((id) => this.queue.cancel(id, 'all')));
        count += results.filter((result) => result === 'cancelled').length;
        cursor = nextCursor;
      } while (cursor !== undefined);
    }
    return count;
  }

  /**
   * Returns a page of the tasks in one sorted set, over all partitions.
   *
   * @param itemOf function that makes an item from a task, or returns undefined to leave the task out. A page may then have fewer items
   *   than `limit` although it has a `nextCursor`
   */
  async page<Item>(
    place: Place,
    limit: number,
    cursor: string | undefined,
    itemOf: (row: TaskRow) => Item | undefined,
  ): Promise<Page<Item>> {
    taskInput.integer('limit', limit, 1, MOST_ROWS);
    const { all } = this.queue.partitions;
    const untilMs = place === 'dead' ? NEVER_MS : place === 'ended' ? 0 : NO_END;
    const start = (partition: number): Position => startOf(partition, untilMs);
    let at = cursor === undefined ? start(0) : parseCursor(cursor, all.length);
    const items: Item[] = [];
    for (let lookedAt = 0; ;) {
      const most = items.length === lookedAt ? limit - items.length : MOST_ROWS;
      const { untilMs, rows } = await this.read(place, at, most);
      for (const row of rows) {
        const item = itemOf(row);
        if (item !== undefined) items.push(item);
        lookedAt += 1;
        at = { ...at, untilMs, afterMs: row.atMs, afterId: row.id };
        if (items.length === limit || lookedAt === MOST_LOOKED_AT) return { items, nextCursor: formatCursor(at) };
      }
      if (rows.length === most) continue;
      if (at.partition + 1 === all.length) return { items };
      at = start(at.partition + 1);
    }
  }

  private read(place: Place, { partition, ...from }: Position, limit: number) {
    const { tasks, runs, [place === 'ended' ? 'leased' : place]: key } = this.queue.partitions.at(partition);
    return this.queue.registry.run(listTasks, { keys: { place: key, tasks, runs }, args: { ...from, limit } });
  }
}

/** Returns a function that tests if a filter selects a task. @throws InvalidInputError */
function selectorOf({ name, group }: TaskFilter): (task: TaskRecord) => boolean {
  if (name !== undefined) checkName(name);
  if (group !== undefined) checkGroup(group);
  return (task) => (name === undefined || task.name === name) && (group === undefined || task.group === group);
}

function startOf(partition: number, untilMs: number): Position {
  return { partition, untilMs, afterMs: 0, afterId: '' };
}

function formatCursor({ partition, untilMs, afterMs, afterId }: Position): string {
  return `${partition}.${untilMs}.${afterMs}.${Buffer.from(afterId).toString('base64url')}`;
}

function parseCursor(cursor: string, partitions: number): Position {
  const [, partition, untilMs, afterMs, id] = CURSOR.exec(typeof cursor === 'string' ? cursor : '') ?? [];
  if (partition === undefined || id === undefined || Number(partition) >= partitions) {
    return taskInput.refuse('cursor', cursor, 'the nextCursor of the page before');
  }
  const afterId = Buffer.from(id, 'base64url').toString();
  return { partition: Number(partition), untilMs: Number(untilMs), afterMs: Number(afterMs), afterId };
}
