import { type ScriptRegistry } from 'luanest/script-registry';
import { Checks, Steps, type KnownOptions, InvalidInputError, type Page } from '../../../internal/src';
import { KNOWN_DEAD_RANGE } from '../../../worker/src';
import type { DeadLetterFilter, DeadLetterPageOptions, DeadLetter } from '../stream-consumer.types';
import { objectOf, unpackFields } from './fields';
import type { Stream } from './stream-catalog';
import { dropDead, listDead, listDeadForeign, replayDead } from './streams.scripts';

const COLUMNS = 8;
const MAX_PAGE = 500;
const IDS_A_CALL = 100;
/** Highest second part that the id of a stream entry (`<ms>-<seq>`) can have. */
export const LAST_SEQ = (2n ** 64n - 1n).toString();
/** Highest time that a filter may have, ms since 1970. */
export const LATEST_MS = 10 ** 15 - 1;

const KNOWN_OF_PAGE: KnownOptions<DeadLetterPageOptions> = { limit: true, cursor: true };
const checks = new Checks('StreamConsumerService', (message) => new InvalidInputError(message));

/** Range of dead letters in one partition, by their ids. */
interface IdRange {
  /** Id before the range; `0` for a range that begins with the first dead letter. */
  readonly after: string;
  /** Last id of the range; `+` for a range that ends with the last dead letter. */
  readonly until: string;
}

/** Function that replays or drops dead letters of one partition, and returns their number. */
type Use = (partition: number, entries: readonly string[]) => Promise<number>;

const REPEAT = 'Repeat the call: it continues with the dead letters that are left.';

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Parses the payload of a dead letter: JSON text, or a Buffer with the packed fields of an entry that another program wrote. */
function payloadOf(payload: string | Buffer): Pick<DeadLetter, 'payload' | 'fields'> {
  if (typeof payload === 'string') return { payload: parsed(payload), fields: undefined };
  const fields = unpackFields(payload);
  return { payload: objectOf(fields), fields };
}

function recordOf(partition: number, row: readonly (string | Buffer)[]): DeadLetter {
  const [id, payload = '', key, operation, original, error, attempts, firstSeen] = row;
  return {
    id: `${partition}:${String(id)}`,
    messageId: `${partition}:${String(original)}`,
    ...payloadOf(payload),
    key: String(key) || undefined,
    operationId: String(operation) || undefined,
    error: String(error),
    attemptsMade: Number(String(attempts)),
    firstSeenAtMs: Number(String(firstSeen)),
    // The first part of the id is Redis' time when the dead letter was added, ms.
    deadAtMs: Number.parseInt(String(id), 10),
  };
}

/** Returns true for an id that Redis accepts: both parts must fit into 64 bits. */
function isEntry(entry: string): boolean {
  return entry.split('-').every((part) => BigInt(part) < 2n ** 64n);
}

/** Splits the id of a dead letter into its partition and its id there. @throws InvalidInputError for any other value */
function splitId(option: string, id: string, expected: string): [partition: number, entry: string] {
  const [, partition, entry] = (typeof id === 'string' ? /^(\d{1,4}):(\d{1,20}-\d{1,20})$/.exec(id) : null) ?? [];
  if (partition === undefined || entry === undefined || !isEntry(entry)) {
    return checks.refuse(option, id, expected);
  }
  return [Number(partition), entry];
}

/** Returns the ids that a filter selects; undefined if no dead letter can match. @throws InvalidInputError */
function rangeOf(filter: DeadLetterFilter): IdRange | undefined {
  const { diedFromAtMs = 0, diedBeforeAtMs } = checks.options('filter', filter, KNOWN_DEAD_RANGE);
  const where = checks.in('filter');
  const fromMs = where.integer('diedFromAtMs', diedFromAtMs, 0, LATEST_MS);
  const beforeMs =
    diedBeforeAtMs === undefined ? Infinity : where.integer('diedBeforeAtMs', diedBeforeAtMs, 0, LATEST_MS);
  if (beforeMs <= fromMs) return undefined;
  return {
    after: fromMs === 0 ? '0' : `${fromMs - 1}-${LAST_SEQ}`,
    until: beforeMs === Infinity ? '+' : `${beforeMs - 1}-${LAST_SEQ}`,
  };
}

/**
 * Lists, replays and drops the dead letters of groups. Redis keeps a dead letter until it is replayed or dropped, or its group is
 * removed. On a stream with `keys`, dead letters get the TTL of the key, if it has one.
 */
export class DeadLetters {
  constructor(private readonly registry: ScriptRegistry) {}

  /**
   * Returns a page of dead letters. The cursor is the id of the last one on the page before.
   *
   * @throws InvalidInputError; the errors of ScriptRegistry.run()
   */
  async page(stream: Stream, group: string, options: DeadLetterPageOptions): Promise<Page<DeadLetter>> {
    const { limit = 100, cursor } = checks.options('page', options, KNOWN_OF_PAGE);
    checks.integer('limit', limit, 1, MAX_PAGE);
    let [index, after] =
      cursor === undefined ? [0, '0'] : splitId('cursor', cursor, 'the nextCursor of a page of deadLetters()');
    const partitions = await stream.all();
    const items: DeadLetter[] = [];
    for (; index < partitions.length; index++, after = '0') {
      const { rows } = await this.read(stream, group, index, { after, until: '+' }, limit - items.length);
      for (const row of rows) items.push(recordOf(index, row));
      const last = items.at(-1);
      if (last && items.length === limit) return { items, nextCursor: last.id };
    }
    return { items };
  }

  replay(stream: Stream, group: string, ids: readonly string[]): Promise<number> {
    return this.each(stream, ids, this.replaying(stream, group), new Steps('StreamConsumerService.replay', REPEAT));
  }

  drop(stream: Stream, group: string, ids: readonly string[]): Promise<number> {
    return this.each(stream, ids, this.dropping(stream, group), new Steps('StreamConsumerService.drop', REPEAT));
  }

  replayAll(stream: Stream, group: string, filter: DeadLetterFilter): Promise<number> {
    const steps = new Steps('StreamConsumerService.replayAll', REPEAT);
    return this.all(stream, group, filter, this.replaying(stream, group), steps);
  }

  dropAll(stream: Stream, group: string, filter: DeadLetterFilter): Promise<number> {
    const steps = new Steps('StreamConsumerService.dropAll', REPEAT);
    return this.all(stream, group, filter, this.dropping(stream, group), steps);
  }

  private replaying(stream: Stream, group: string): Use {
    return (index, ids) => {
      const partition = stream.partition(index);
      const keys = { dead: partition.of(group).dead, stream: partition.stream, woken: partition.woken };
      return this.registry.run(replayDead, { keys, args: { group, ids } });
    };
  }

  private dropping(stream: Stream, group: string): Use {
    return (index, ids) => {
      const { dead, woken } = stream.partition(index).of(group);
      return this.registry.run(dropDead, { keys: { dead, woken }, args: { ids } });
    };
  }

  private async read(stream: Stream, group: string, index: number, range: IdRange, count: number) {
    const keys = { dead: stream.partition(index).of(group).dead };
    const args = { ...range, count };
    const reply: readonly (string | Buffer)[] = stream.isForeign
      ? await this.registry.run(listDeadForeign, { keys, args })
      : await this.registry.run(listDead, { keys, args });
    const rows: (readonly (string | Buffer)[])[] = [];
    for (let at = 1; at < reply.length; at += COLUMNS) rows.push(reply.slice(at, at + COLUMNS));
    return { newest: String(reply[0]), rows };
  }

  /**
   * Calls `use` with the ids of all selected dead letters, 100 at a time, partition by partition. Dead letters that are added to a
   * partition after its first 100 were read are left out, so that the loop ends.
   */
  private async all(stream: Stream, group: string, filter: DeadLetterFilter, use: Use, steps: Steps): Promise<number> {
    const range = rangeOf(filter);
    if (range === undefined) return 0;
    let done = 0;
    for (const { index } of await stream.all()) {
      let { after, until } = range;
      for (;;) {
        const { newest, rows } = await steps.read(this.read(stream, group, index, { after, until }, IDS_A_CALL));
        const entries = rows.map(([id]) => String(id));
        const last = entries.at(-1);
        if (last === undefined) break;
        done += await steps.one(use(index, entries));
        if (last === newest) break;
        // A replayed message may become a dead letter again. It then comes after `newest`, so this loop does not replay it a second time.
        [after, until] = [last, newest];
      }
    }
    return done;
  }

  private async each(stream: Stream, ids: readonly string[], use: Use, steps: Steps): Promise<number> {
    checks.list('ids', ids, 'an array of ids');
    const byPartition = new Map<number, string[]>();
    for (const id of new Set(ids)) {
      const [index, entry] = splitId('id', id, 'the id of a dead letter, as deadLetters() returns it');
      const entries = byPartition.get(index);
      if (entries) entries.push(entry);
      else byPartition.set(index, [entry]);
    }
    let done = 0;
    for (const [index, entries] of byPartition) {
      if (!stream.has(index)) continue;
      for (let at = 0; at < entries.length; at += IDS_A_CALL) {
        done += await steps.one(use(index, entries.slice(at, at + IDS_A_CALL)));
      }
    }
    return done;
  }
}
