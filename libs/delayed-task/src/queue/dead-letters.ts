import { Steps, type KnownOptions, type Page } from '../../../internal/src';
import { KNOWN_DEAD_RANGE } from '../../../worker/src';
import { clearDead, MAX_CHUNK, type TaskRow } from '../delayed-task.scripts';
import type { DeadFilter, DeadLetter, DueTime } from '../delayed-task.types';
import { readRun, RecordReader, whenOf, checkId, checkName, taskInput } from './task-codec';
import { NEVER_MS, type Position, type TaskPages } from './task-pages';
import { OPERATION_MS, type TaskQueue } from './task-queue';

const inFilter = taskInput.in('filter');

const KNOWN_OF_FILTER: KnownOptions<DeadFilter> = { name: true, ...KNOWN_DEAD_RANGE };
/** Advice in the error of a call that failed halfway. */
const REPEAT = 'Repeat the call: it continues with the dead letters that are left.';
/** Result of one step of `clear()`, which handles a limited number of dead letters. */
interface Cleared {
  /** Number of dead letters that this step has replayed or dropped. */
  readonly done: number;
  /** `untilMs` of the next step, ms since 1970. Dead letters that are newer are not handled. */
  readonly untilMs: number;
  readonly lastMs: number;
  /** Id of the last dead letter that this step has read; '' after the last step in a partition. */
  readonly lastId: string;
}

export class DeadLetters {
  private readonly reader = new RecordReader();

  constructor(
    private readonly queue: TaskQueue,
    private readonly pages: TaskPages,
  ) {}

  page(limit: number, cursor: string | undefined): Promise<Page<DeadLetter>> {
    return this.pages.page('dead', limit, cursor, (row) => this.taskOf(row));
  }

  /**
   * Replays or drops the selected dead letters, in several steps. Dead letters that are added to a partition after its first step are left
   * alone, so that the call ends.
   *
   * @returns the number of dead letters that were replayed or dropped
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

  /**
   * Replays or drops the dead letters with these ids. Ignores ids of other tasks. @returns the number of dead letters that were replayed or
   * dropped
   */
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

  private clearSome(verb: string, name: string, { partition, ...from }: Position): Promise<Cleared> {
    const { due, tasks, runs, dead, waits, lines, heads, operation } = this.queue.partitions.at(partition);
    const keys = { due, tasks, runs, dead, waits, operation: operation(this.queue.tokens.next()), lines, heads };
    const args = { verb, name, ...from, limit: MAX_CHUNK, operationMs: OPERATION_MS };
    return this.queue.registry.run(clearDead, { keys, args });
  }

  private taskOf({ id, atMs, record, run }: TaskRow): DeadLetter {
    const { name, payload, attempts } = this.reader.read(record);
    const { attemptsMade, firstFailedAtMs, error } = readRun(run);
    return { id, name, payload: JSON.parse(payload), attemptsMade, attempts, error, firstFailedAtMs, deadAtMs: atMs };
  }
}
