import { evenTags, slotOf } from '../../../internal/src/without-nest';
import type { Node } from './node';
import type { Master } from './servers';

/**
 * Maximum number of keys that SCAN visits on all masters together, and number of keys of one call. A call takes Redis less than a
 * millisecond.
 */
const [MOST_KEYS, AT_A_TIME] = [100_000, 1_000];

/** A part of a queue or of a stream: a hash tag, whose keys are all on one master. */
export interface Partition {
  readonly node: Node;
  /** Beginning of the names of its keys, such as `luanest:delayed-task:{emails:0}:`. */
  readonly start: string;
}

/** The queues, the streams and the red packets of luanest in a Redis. */
export interface Found {
  /** The partitions of each queue of tasks, by its name. */
  readonly queues: ReadonlyMap<string, readonly Partition[]>;
  /** The partitions of each stream, by its name. A stream that another program creates under a key of its own is not found. */
  readonly streams: ReadonlyMap<string, readonly Partition[]>;
  /** Number of partitions of the red packets; undefined if Redis has no red packets. */
  readonly packetPartitions: number | undefined;
  /** False if Redis has more keys than were visited, so there may be more queues and streams. */
  readonly isAll: boolean;
}

/**
 * Finds the queues and the streams of luanest by the names of their keys. Visits at most 100,000 keys.
 *
 * @param prefix option `prefix` of ScriptRegistryModule
 */
export async function findIn(masters: readonly Master[], prefix: string): Promise<Found> {
  const scans = await Promise.all(masters.map((master) => scan(master.node, prefix, MOST_KEYS / masters.length)));
  const keys = scans.flatMap(({ keys }) => keys);
  const nodeOf = (key: string): Node => nodeOfKey(masters, key);
  const numberAt = async (key: string): Promise<number | undefined> => {
    const text = (await nodeOf(key).call('GET', key)) as string | null;
    return text === null ? undefined : Number(text);
  };
  const queues = new Map<string, readonly Partition[]>();
  for (const name of tagsOf(keys, `${prefix}:delayed-task:{`, '}:layout')) {
    const count = await numberAt(`${prefix}:delayed-task:{${name}}:layout`);
    const starts = evenTags(count ?? 0, `${name}:`).map((tag) => `${prefix}:delayed-task:{${tag}}:`);
    if (count !== undefined)
      queues.set(
        name,
        starts.map((start) => ({ start, node: nodeOf(start) })),
      );
  }
  const streams = new Map<string, Partition[]>();
  for (const tag of tagsOf(keys, `${prefix}:stream-consumer:{`, '}:stream')) {
    // The tag is `<stream>.<partition>.<number>`. The number only decides the hash slot.
    const name = tag.replace(/\.\d+\.\d+$/, '');
    const start = `${prefix}:stream-consumer:{${tag}}:`;
    streams.set(name, [...(streams.get(name) ?? []), { start, node: nodeOf(start) }]);
  }
  return {
    queues,
    streams,
    packetPartitions: await numberAt(`${prefix}:red-packet:{activities}:partitions`),
    isAll: scans.every(({ isAll }) => isAll),
  };
}

async function scan(node: Node, prefix: string, most: number): Promise<{ keys: string[]; isAll: boolean }> {
  const pattern = `${prefix.replaceAll(/[\\*?[\]]/g, '\\$&')}:*}:*`;
  const keys = new Set<string>();
  let [cursor, visited] = ['0', 0];
  do {
    const reply = (await node.call('SCAN', cursor, 'MATCH', pattern, 'COUNT', AT_A_TIME)) as [string, string[]];
    cursor = String(reply[0]);
    for (const key of reply[1]) keys.add(key);
    visited += AT_A_TIME;
  } while (cursor !== '0' && visited < most);
  return { keys: [...keys], isAll: cursor === '0' };
}

/** Takes the keys that begin with `start` and end with `end`. Returns the texts in between, sorted. */
function tagsOf(keys: readonly string[], start: string, end: string): string[] {
  const found = keys.filter((key) => key.startsWith(start) && key.endsWith(end));
  return found.map((key) => key.slice(start.length, -end.length)).sort();
}

function nodeOfKey(masters: readonly Master[], key: string): Node {
  const slot = slotOf(key);
  const owner = masters.find(({ slots = [[0, slot]] }) => slots.some(([from, to]) => slot >= from && slot <= to));
  if (owner === undefined)
    throw new Error(
      `No master of the Cluster has hash slot ${slot}, to which the key ${key} belongs. Run luanest doctor --cluster.`,
    );
  return owner.node;
}
