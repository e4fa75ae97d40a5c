import { type ScriptRegistry } from 'luanest/script-registry';
import { Checks, shown } from '../../../internal/src';
import { InvalidStreamInputError } from '../stream-consumer.errors';
import type { DeadLetterPage, DeadLetterRecord } from '../stream-consumer.types';
import { dropDead, listDead, listDeadForeign, replayDead } from './streams.scripts';
import { objectOf, unpackFields } from './fields';
import type { Stream } from './stream-catalog';

const COLUMNS = 8;
const MAX_PAGE = 500;
const IDS_A_CALL = 100;

/** What JSON says, or the text itself where it is none. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** What the bytes, or the text, of a payload are. */
function payloadOf(payload: string | Buffer): Pick<DeadLetterRecord, 'payload' | 'fields'> {
  if (typeof payload === 'string') return { payload: parsed(payload), fields: undefined };
  const fields = unpackFields(payload);
  return { payload: objectOf(fields), fields };
}

function recordOf(partition: number, row: readonly (string | Buffer)[]): DeadLetterRecord {
  const [id, payload = '', key, operation, original, error, attempts, firstSeen] = row;
  return {
    id: `${partition}:${String(id)}`,
    messageId: `${partition}:${String(original)}`,
    ...payloadOf(payload),
    key: String(key) || undefined,
    operationId: String(operation) || undefined,
    error: String(error),
    attempts: Number(String(attempts)),
    firstSeenAt: new Date(Number(String(firstSeen))),
    deadAt: new Date(Number.parseInt(String(id), 10)),
  };
}

/** Ids that Redis can read: both parts have 64 bits. */
function isEntry(entry: string): boolean {
  return entry.split('-').every((part) => BigInt(part) < 2n ** 64n);
}

function splitId(id: string): [partition: number, entry: string] {
  const [, partition, entry] = (typeof id === 'string' ? /^(\d{1,4}):(\d{1,20}-\d{1,20}|0)$/.exec(id) : null) ?? [];
  if (partition === undefined || entry === undefined || !isEntry(entry)) {
    throw new InvalidStreamInputError(`${shown(id)} is no id of a dead letter. Use the ids of a page.`);
  }
  return [Number(partition), entry];
}

const checks = new Checks('StreamConsumerService', (message) => new InvalidStreamInputError(message));

/** Dead letters of groups: they stay until somebody replays or drops them. */
export class DeadLetters {
  constructor(private readonly registry: ScriptRegistry) {}

  /**
   * @param after as the last page said
   * @throws InvalidStreamInputError, errors of the registry
   */
  async page(stream: Stream, group: string, count: number, after = '0:0'): Promise<DeadLetterPage> {
    checks.integer('count', count, 1, MAX_PAGE);
    const partitions = await stream.all();
    const items: DeadLetterRecord[] = [];
    let [index, entry] = splitId(after);
    for (; index < partitions.length; index++, entry = '0') {
      const wanted = count - items.length;
      const keys = { dead: stream.partition(index).of(group).dead };
      const args = { after: entry, count: wanted };
      const rows: readonly (string | Buffer)[] = stream.isForeign
        ? await this.registry.run(listDeadForeign, { keys, args })
        : await this.registry.run(listDead, { keys, args });
      for (let at = 0; at < rows.length; at += COLUMNS) items.push(recordOf(index, rows.slice(at, at + COLUMNS)));
      if (items.length === count) return { items, next: items.at(-1)?.id };
    }
    return { items, next: undefined };
  }

  /** Publishes dead letters again, for the group that gave them up. Answers how many were there. */
  replay(stream: Stream, group: string, ids: readonly string[] | 'all'): Promise<number> {
    return this.each(stream, group, ids, (index, entries) => {
      const partition = stream.partition(index);
      const { dead } = partition.of(group);
      const keys = { dead, stream: partition.stream, waiters: partition.waiters };
      return this.registry.run(replayDead, { keys, args: { group, ids: entries } });
    });
  }

  /** Deletes dead letters. Answers how many were there. */
  drop(stream: Stream, group: string, ids: readonly string[] | 'all'): Promise<number> {
    return this.each(stream, group, ids, (index, entries) => {
      const keys = { dead: stream.partition(index).of(group).dead };
      return this.registry.run(dropDead, { keys, args: { ids: entries } });
    });
  }

  private async each(
    stream: Stream,
    group: string,
    ids: readonly string[] | 'all',
    use: (partition: number, entries: readonly string[]) => Promise<number>,
  ): Promise<number> {
    if (ids !== 'all') return this.some(stream, ids, use);
    // All of them first: what is replayed may die again and would be found once more.
    const all: string[] = [];
    for (let next: string | undefined = '0:0'; next !== undefined;) {
      const page: DeadLetterPage = await this.page(stream, group, MAX_PAGE, next);
      for (const { id } of page.items) all.push(id);
      next = page.next;
    }
    return this.some(stream, all, use);
  }

  private async some(
    stream: Stream,
    ids: readonly string[],
    use: (partition: number, entries: readonly string[]) => Promise<number>,
  ): Promise<number> {
    const byPartition = new Map<number, string[]>();
    for (const id of new Set(ids)) {
      const [index, entry] = splitId(id);
      const entries = byPartition.get(index);
      if (entries) entries.push(entry);
      else byPartition.set(index, [entry]);
    }
    let done = 0;
    for (const [index, entries] of byPartition) {
      if (!stream.has(index)) continue;
      for (let at = 0; at < entries.length; at += IDS_A_CALL)
        done += await use(index, entries.slice(at, at + IDS_A_CALL));
    }
    return done;
  }
}
