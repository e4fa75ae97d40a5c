import { measuredMs, time } from '../../../internal/src/without-nest';
import type { Found, Partition } from '../redis/found';

/** Maximum number of partitions that are read for one screen. Each takes about seven commands. */
const MOST_PARTITIONS = 200;
/** Maximum number of unread messages that are counted one by one. */
const MOST_COUNTED = 100;
/** delayed-task adds this number to the due time of a task that waits for other tasks of its group (see in-line.lua there). */
const IN_LINE = 4_503_599_627_370_496;

/** The numbers of a queue, or of a group of a stream. */
export interface WorkCounts {
  /** Tasks that wait, or messages that the group has not read. */
  readonly waiting: number;
  /** Of a queue, the tasks that wait and are due. Of a group, the messages that wait for a retry or for a consumer. */
  readonly due: number;
  /** Tasks that run, or messages that consumers hold. */
  readonly running: number;
  readonly dead: number;
  /** How long the first task has been due, or the age of the oldest message that is not settled, ms; 0 if there is none. */
  readonly oldestMs: number;
  /** Messages of the stream that are neither unread nor held, so the group has settled them. Redis has no such count for queues. */
  readonly settled?: number;
}

/** The numbers of all queues and streams at one moment, by names such as `queue mail` and `stream orders > mail`. */
export interface WorkSample {
  readonly atMs: number;
  readonly counts: ReadonlyMap<string, WorkCounts>;
  /** Number of queues and streams that were not read, because there are too many. */
  readonly unread: number;
  /** Message of the error if the queues and streams could not be read. */
  readonly problem?: string;
}

/** Reads the numbers of the queues and streams. At most 200 partitions are read: queues and streams with more partitions than are left are not. */
export async function takeWork({ queues, streams }: Found): Promise<WorkSample> {
  const nowMs = time.nowMs();
  let left = MOST_PARTITIONS;
  const isRead = ([, { length }]: readonly [string, readonly Partition[]]): boolean => {
    if (length > left) return false;
    left -= length;
    return true;
  };
  const [readQueues, readStreams] = [[...queues].filter(isRead), [...streams].filter(isRead)];
  const found = await Promise.all([
    ...readQueues.map(async ([name, partitions]) => {
      const parts = await Promise.all(partitions.map((partition) => countTasks(partition, nowMs)));
      return [[`queue ${name}`, sumOf(parts)] as const];
    }),
    ...readStreams.map(([name, partitions]) => countGroups(name, partitions, nowMs)),
  ]);
  const unread = queues.size + streams.size - readQueues.length - readStreams.length;
  return { atMs: measuredMs(), counts: new Map(found.flat()), unread };
}

/** Counts as the script `stats` of delayed-task does, but `oldestMs` leaves out tasks that wait for other tasks of their group. */
async function countTasks({ node, start }: Partition, nowMs: number): Promise<WorkCounts> {
  const [due, leased, dead] = [`${start}due`, `${start}leased`, `${start}dead`];
  const count = async (...words: (string | number)[]): Promise<number> => Number(await node.call(...words));
  const [waiting, overdue, dueInLine, all, ended, deadLetters, head] = await Promise.all([
    count('ZCARD', due),
    count('ZCOUNT', due, '-inf', nowMs),
    count('ZCOUNT', due, IN_LINE, IN_LINE + nowMs),
    count('ZCARD', leased),
    // A score of 0 in `leased` stands for a task that is scheduled to follow an attempt which has ended. It counts as waiting.
    count('ZCOUNT', leased, 0, 0),
    count('ZCARD', dead),
    node.call('ZRANGE', due, 0, 0, 'WITHSCORES'),
  ]);
  const [, first = nowMs] = (head as unknown[]).flat().map(Number);
  return {
    waiting: waiting + ended,
    due: overdue + dueInLine,
    running: all - ended,
    dead: deadLetters,
    oldestMs: Math.max(0, nowMs - first),
  };
}

async function countGroups(name: string, partitions: readonly Partition[], nowMs: number) {
  const groups = new Map<string, WorkCounts[]>();
  await Promise.all(
    partitions.map(async (partition) => {
      const { node, start } = partition;
      // The stream may have been deleted since it was found. Then it has no groups.
      const [info, rows] = await Promise.all([
        node.call('XINFO', 'STREAM', `${start}stream`).catch(() => []),
        node.call('XINFO', 'GROUPS', `${start}stream`).catch(() => []),
      ]);
      const stream = fieldsOf(info);
      const [length, added] = ['length', 'entries-added'].map((name) => Number(stream.get(name) ?? 0)) as [
        number,
        number,
      ];
      const found = (rows as unknown[]).map(fieldsOf);
      const counts = await Promise.all(found.map((row) => countMessages(partition, row, { length, added }, nowMs)));
      found.forEach((row, i) => {
        const group = String(row.get('name'));
        groups.set(group, [...(groups.get(group) ?? []), counts[i] as WorkCounts]);
      });
    }),
  );
  return [...groups].map(([group, parts]) => [`stream ${name} > ${group}`, sumOf(parts)] as const);
}

/**
 * Counts the messages of a group in a partition, as the script `stats` of stream-consumer does.
 *
 * @param row what XINFO GROUPS reports of the group
 * @param stream number of messages that the partition has, and that were ever added to it
 */
async function countMessages(
  { node, start }: Partition,
  row: ReadonlyMap<string, unknown>,
  { length, added }: { readonly length: number; readonly added: number },
  nowMs: number,
): Promise<WorkCounts> {
  const [key, group] = [`${start}stream`, String(row.get('name'))];
  const unread = async (most: number): Promise<readonly string[]> => {
    const after = `(${String(row.get('last-delivered-id'))}`;
    return ((await node.call('XRANGE', key, after, '+', 'COUNT', most)) as [string, unknown][]).map(([id]) => id);
  };
  const [pending, [next], due, dead] = await Promise.all([
    node.call('XPENDING', key, group),
    unread(1),
    node.call('ZCARD', `${start}due:${group}`),
    node.call('XLEN', `${start}dead:${group}`),
  ]);
  const [held, oldestHeld] = pending as [number, string | null];
  // Redis reports no lag if an unread message was deleted. Its lag also counts trimmed messages, so it is ignored if no message is unread.
  const lag = row.get('lag') as number | null | undefined;
  const waiting = next === undefined ? 0 : Math.min(length, Number(lag ?? (await unread(MOST_COUNTED)).length));
  const ids = [oldestHeld, next].filter((id) => typeof id === 'string');
  return {
    waiting,
    due: Number(due),
    running: Number(held),
    dead: Number(dead),
    oldestMs: ids.length === 0 ? 0 : Math.max(0, nowMs - Math.min(...ids.map((id) => Number.parseInt(id, 10)))),
    settled: added - waiting - Number(held),
  };
}

function sumOf(parts: readonly WorkCounts[]): WorkCounts {
  const sum = (of: (part: WorkCounts) => number): number => parts.reduce((total, part) => total + of(part), 0);
  const isCounted = parts.every(({ settled }) => settled !== undefined);
  return {
    waiting: sum(({ waiting }) => waiting),
    due: sum(({ due }) => due),
    running: sum(({ running }) => running),
    dead: sum(({ dead }) => dead),
    oldestMs: Math.max(0, ...parts.map(({ oldestMs }) => oldestMs)),
    ...(isCounted && { settled: sum(({ settled = 0 }) => settled) }),
  };
}

/** Returns the fields of a reply: a flat list of names and values with RESP2, an object or a Map with RESP3. */
function fieldsOf(reply: unknown): ReadonlyMap<string, unknown> {
  if (reply instanceof Map) return reply as Map<string, unknown>;
  if (!Array.isArray(reply)) return new Map(Object.entries(reply as object));
  return new Map(
    Array.from({ length: reply.length / 2 }, (_, i): [string, unknown] => [String(reply[2 * i]), reply[2 * i + 1]]),
  );
}
