import { Steps, type KnownOptions } from '../../../internal/src';
import { KNOWN_DEAD_RANGE, type Page } from '../../../worker/src';
import { clearDead, listDead, MAX_CHUNK, type DeadRow } from '../delayed-task.scripts';
import type { DeadFilter, DeadLetter, DueTime } from '../delayed-task.types';
import { readRun, RecordReader, whenOf, checkId, checkName, taskInput } from './task-codec';
import { OPERATION_MS, type TaskQueue } from './task-queue';

const inFilter = taskInput.in('filter');

const KNOWN_OF_FILTER: KnownOptions<DeadFilter> = { name: true, ...KNOWN_DEAD_RANGE };
/** Advice after a failure between two steps. */
const REPEAT = 'Call it again: it continues with the dead letters that are left.';
/** Instant after all dead letters, ms since 1970. */
const NEVER_MS = 10 ** 15 - 1;
// <partition>.<untilMs>.<afterMs>.<afterId in base64url>. See DECISIONS.md: dead-letter-cursor
const CURSOR = /^(\d{1,3})\.(\d{1,15})\.(\d{1,15})\.([\w-]{0,1100})$/;

/**
 * Position in a partition at which the next page, or the next call of `clear()`, goes on: after the dead letter `afterId`, which
 * died at `afterMs`, up to those that died at `untilMs`; ms since 1970. `afterId` '': from the first that died at `afterMs`.
 */
interface Position {
  readonly partition: number;
  readonly untilMs: number;
  readonly afterMs: number;
  readonly afterId: string;
}

/** Result of one step of `clear()`. */
interface Cleared {
  /** Number of tasks that were replayed or dropped. */
  readonly done: number;
  /** `untilMs` of the next step. */
  readonly untilMs: number;
  readonly lastMs: number;
  /** Id of the last dead letter of this step; '' after the last step in the partition. */
  readonly lastId: string;
}

export class DeadLetters {
  private readonly reader = new RecordReader();

  constructor(private readonly queue: TaskQueue) {}

  async page(limit: number, cursor: string | undefined): Promise<Page<DeadLetter>> {
    taskInput.integer('limit', limit, 1, 256);
    const { all } = this.queue.partitions;
    let at = parseCursor(cursor, all.length);
    const items: DeadLetter[] = [];
    for (;;) {
      const { untilMs, rows } = await this.read(at, limit - items.length);
      for (const row of rows) items.push(this.taskOf(row));
      const last = rows.at(-1);
      if (items.length === limit && last) {
        return { items, nextCursor: formatCursor({ ...at, untilMs, afterMs: last.deadAtMs, afterId: last.id }) };
      }
      if (at.partition + 1 === all.length) return { items };
      at = startOf(at.partition + 1);
    }
  }

  /**
   * Replays or drops the dead letters that the filter selects. Those that are added to a partition after its first step are left
   * out.
   *
   * @returns the number of tasks that were replayed or dropped
   */
  async clear(verb: 'replay' | 'drop', filter: DeadFilter): Promise<number> {
    const { name, diedFromAtMs, diedBeforeAtMs } = inFilter.options('', filter, KNOWN_OF_FILTER);
    const chosen = name === undefined ? '' : checkName(name);
    const fromMs = diedFromAtMs === undefined ? 0 : inFilter.integer('diedFromAtMs', diedFromAtMs, 0, NEVER_MS);
    const beforeMs =
      diedBeforeAtMs === undefined ? NEVER_MS : inFilter.integer('diedBeforeAtMs', diedBeforeAtMs, 0, NEVER_MS);
    if (beforeMs <= fromMs) return 0;
    let count = 0;
    const steps = new Steps(`DelayedTaskService.${verb}All`, REPEAT);
    for (let partition = 0; partition < this.queue.partitions.all.length; partition++) {
      let at: Position | undefined = { partition, untilMs: beforeMs - 1, afterMs: fromMs, afterId: '' };
      while (at !== undefined) {
        const { done, untilMs, lastMs, lastId }: Cleared = await steps.one(this.clearSome(verb, chosen, at));
        count += done;
        at = lastId === '' ? undefined : { partition, untilMs, afterMs: lastMs, afterId: lastId };
      }
    }
    return count;
  }

  /** Replays or drops the dead letters with these ids. @returns the number of those that were dead letters */
  async each(verb: 'replay' | 'drop', ids: readonly string[], time: DueTime): Promise<number> {
    const unique = new Set(taskInput.list('ids', ids, 'an array of ids').map(checkId));
    whenOf(time);
    const steps = new Steps(`DelayedTaskService.${verb}`, REPEAT);
    let done = 0;
    for (const id of unique) {
      if (verb === 'drop') done += (await steps.one(this.queue.cancel(id, 'dead'))) === 'cancelled' ? 1 : 0;
      else done += (await steps.one(this.queue.reschedule(id, time, 'dead'))).status === 'rescheduled' ? 1 : 0;
    }
    return done;
  }

  private read({ partition, ...from }: Position, limit: number): Promise<{ untilMs: number; rows: DeadRow[] }> {
    const { dead, tasks, runs } = this.queue.partitions.at(partition);
    return this.queue.registry.run(listDead, { keys: { dead, tasks, runs }, args: { ...from, limit } });
  }

  private clearSome(verb: string, name: string, { partition, ...from }: Position): Promise<Cleared> {
    const { due, tasks, runs, dead, waits, operation } = this.queue.partitions.at(partition);
    const keys = { due, tasks, runs, dead, waits, operation: operation(this.queue.tokens.next()) };
    const args = { verb, name, ...from, limit: MAX_CHUNK, operationMs: OPERATION_MS };
    return this.queue.registry.run(clearDead, { keys, args });
  }

  private taskOf({ id, deadAtMs, record, run }: DeadRow): DeadLetter {
    const { name, payload, attempts } = this.reader.read(record);
    const { attemptsMade, firstFailedAtMs, error } = readRun(run);
    return { id, name, payload: JSON.parse(payload), attemptsMade, attempts, error, firstFailedAtMs, deadAtMs };
  }
}

function startOf(partition: number): Position {
  return { partition, untilMs: NEVER_MS, afterMs: 0, afterId: '' };
}

function formatCursor({ partition, untilMs, afterMs, afterId }: Position): string {
  return `${partition}.${untilMs}.${afterMs}.${Buffer.from(afterId).toString('base64url')}`;
}

function parseCursor(cursor: string | undefined, partitions: number): Position {
  if (cursor === undefined) return startOf(0);
  const [, partition, untilMs, afterMs, id] = CURSOR.exec(typeof cursor === 'string' ? cursor : '') ?? [];
  if (partition === undefined || id === undefined || Number(partition) >= partitions) {
    return taskInput.refuse('cursor', cursor, 'the nextCursor of a page of deadLetters()');
  }
  const afterId = Buffer.from(id, 'base64url').toString();
  return { partition: Number(partition), untilMs: Number(untilMs), afterMs: Number(afterMs), afterId };
}
