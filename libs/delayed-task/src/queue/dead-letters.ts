import { shown } from 'luanest/script-registry';
import { InvalidTaskError } from '../delayed-task.errors';
import { checkInteger } from '../../../script-registry/src/shared/checks';
import type { DeadPage, DeadTask } from '../delayed-task.types';
import { listDead } from './queue.scripts';
import type { Partition } from './partitions';
import { readRun, RecordReader } from './record';
import type { DeadRow } from './rows';
import type { TaskQueue } from './task-queue';

/** Where a page begins: in which partition, at which ms, and how many tasks of that ms were read before. */
interface Place {
  readonly partition: number;
  readonly sinceMs: number;
  readonly skip: number;
}

/** The dead tasks of a queue: partition by partition, the oldest first. */
export class DeadLetters {
  private readonly reader = new RecordReader();

  constructor(private readonly queue: TaskQueue) {}

  async page(limit: number, cursor: string | undefined): Promise<DeadPage> {
    checkInteger('limit', limit, 1, 256, (message) => new InvalidTaskError(message));
    const { all } = this.queue.partitions;
    let place = placeOf(cursor, all.length);
    const tasks: DeadTask[] = [];
    for (;;) {
      const rows = await this.read(all[place.partition] as Partition, place, limit - tasks.length);
      for (const row of rows) tasks.push(this.taskOf(row));
      if (tasks.length === limit) return { tasks, cursor: textOf(after(place, rows)) };
      if (place.partition + 1 === all.length) return { tasks, cursor: undefined };
      place = { partition: place.partition + 1, sinceMs: 0, skip: 0 };
    }
  }

  private read({ dead, tasks, runs }: Partition, { sinceMs, skip }: Place, limit: number): Promise<DeadRow[]> {
    return this.queue.registry.run(listDead, { keys: { dead, tasks, runs }, args: { sinceMs, skip, limit } });
  }

  private taskOf({ id, deadAt, record, run }: DeadRow): DeadTask {
    const { name, payload, attempts } = this.reader.read(record);
    const { firstFailedAt, error } = readRun(run);
    return { id, name, payload: JSON.parse(payload), attempts, error, firstFailedAt, deadAt };
  }
}

function after({ partition, sinceMs, skip }: Place, rows: readonly DeadRow[]): Place {
  const last = rows.at(-1)?.deadAt ?? sinceMs;
  const same = rows.filter(({ deadAt }) => deadAt === last).length;
  return { partition, sinceMs: last, skip: last === sinceMs ? skip + same : same };
}

function textOf({ partition, sinceMs, skip }: Place): string {
  return `${partition}.${sinceMs}.${skip}`;
}

function placeOf(cursor: string | undefined, partitions: number): Place {
  if (cursor === undefined) return { partition: 0, sinceMs: 0, skip: 0 };
  const [, partition, sinceMs, skip] = (
    /^(\d{1,3})\.(\d{1,15})\.(\d{1,9})$/.exec(typeof cursor === 'string' ? cursor : '') ?? []
  ).map(Number);
  if (partition === undefined || sinceMs === undefined || skip === undefined || partition >= partitions) {
    throw new InvalidTaskError(`cursor is ${shown(cursor)}. Give one that a page came with.`);
  }
  return { partition, sinceMs, skip };
}
