import { measuredMs, slotOf, time } from '../../../internal/src/without-nest';
import type { Master, SlotRange } from '../redis/servers';
import type { Node } from '../redis/node';
import { LUA, permissionProbes, type Probe } from './permission-probes';

/** Result of a request to Redis: the value, or the message of the error. */
export type Outcome<T> = { readonly value: T } | { readonly error: string };

export type Info = ReadonlyMap<string, string>;

export interface Durations {
  /** Median of the measured times, ms. */
  readonly medianMs: number;
  readonly slowestMs: number;
}

/** Replies of one server to all questions of `luanest doctor`. */
export interface ServerFacts {
  readonly id: string;
  readonly info: Outcome<Info>;
  /** Settings such as `maxmemory-policy`; undefined if the user may not run CONFIG GET. */
  readonly config: Info | undefined;
  readonly user: string;
  readonly clock: Outcome<Clock>;
  /** SHA1 hash that SCRIPT LOAD returned. */
  readonly load: Outcome<string>;
  /** Round-trip times of an empty script. `ping` has those of PING. */
  readonly evalsha: Outcome<Durations>;
  readonly ping: Outcome<Durations>;
  /** Commands that the server does not allow the user to run. */
  readonly refused: Outcome<readonly Probe[]>;
  readonly cluster: Outcome<Info> | undefined;
  readonly keyspace: Outcome<Keyspace>;
}

export interface Clock {
  /** Clock of Redis minus clock of this machine, ms. */
  readonly aheadMs: number;
  /** Maximum error of `aheadMs`: half of the shortest round-trip time, ms. */
  readonly errorMs: number;
}

export interface Keyspace {
  /** Number of keys that were checked. In a large database, fewer than `total`. */
  readonly scanned: number;
  readonly total: number;
  /** Number of keys of each lib of luanest, by the name of the lib. */
  readonly libs: ReadonlyMap<string, number>;
}

const ROUND_TRIPS = 50;
const TIME_SAMPLES = 8;
/** Maximum number of keys to check with SCAN, 1000 per call. One such call takes Redis less than a millisecond. */
const MOST_KEYS = 50_000;

/** Asks a server everything that the doctor must know. Rejects if the connection fails. */
export async function askServer({ node, slots }: Master, prefix: string, user: string): Promise<ServerFacts> {
  const key = ownKey(prefix, slots);
  const load = await outcome(async () => String(await node.call('SCRIPT', 'LOAD', LUA)));
  const sha = 'value' in load ? load.value : '';
  const evalsha = (...args: readonly string[]): Promise<unknown> => node.call('EVALSHA', sha, 1, key, ...args);
  const probes = permissionProbes(key);
  return {
    id: node.id,
    info: await outcome(async () => fields(String(await node.call('INFO')))),
    config: await configOf(node),
    user,
    clock: await outcome(() => clockOf(node)),
    load,
    evalsha: sha === '' ? { error: 'there is no script' } : await outcome(() => durationsOf(() => evalsha())),
    ping: await outcome(() => durationsOf(() => node.call('PING'))),
    refused:
      sha === ''
        ? { error: 'there is no script' }
        : await outcome(async () => refusedOf(await evalsha(...words(probes)), probes)),
    cluster: slots && (await outcome(async () => fields(String(await node.call('CLUSTER', 'INFO'))))),
    keyspace: await outcome(() => keyspaceOf(node, prefix)),
  };
}

async function outcome<T>(ask: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await ask() };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

/** Returns a key with the prefix and with a hash slot of this node. For another slot, the node would redirect the script. */
function ownKey(prefix: string, slots: readonly SlotRange[] | undefined): string {
  for (let n = 0; ; n += 1) {
    const key = `${prefix}:doctor:{${n}}`;
    const slot = slotOf(key);
    if (slots === undefined || slots.some(([from, to]) => slot >= from && slot <= to)) return key;
  }
}

/** Parses the lines `name:value` of INFO and CLUSTER INFO. */
export function fields(text: string): Map<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => /^\w[^:]*:/.test(line));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}

async function configOf(node: Node): Promise<Info | undefined> {
  const names = ['appendfsync', 'save', 'min-replicas-to-write'];
  const read = async (name: string): Promise<[string, string]> => {
    const [, value] = (await node.call('CONFIG', 'GET', name)) as readonly string[];
    return [name, value ?? ''];
  };
  // Many Redis users may not run CONFIG GET, and some hosted services do not have it.
  const found = await outcome(() => Promise.all(names.map(read)));
  return 'value' in found ? new Map(found.value) : undefined;
}

async function clockOf(node: Node): Promise<Clock> {
  let best: Clock | undefined;
  for (let i = 0; i < TIME_SAMPLES; i += 1) {
    const before = time.nowMs();
    const started = measuredMs();
    const [seconds = 0, microseconds = 0] = ((await node.call('TIME')) as readonly string[]).map(Number);
    const half = (measuredMs() - started) / 2;
    const aheadMs = seconds * 1_000 + microseconds / 1_000 - (before + half);
    if (best === undefined || half < best.errorMs) best = { aheadMs, errorMs: half };
  }
  return best as Clock;
}

async function durationsOf(send: () => Promise<unknown>): Promise<Durations> {
  await send();
  const took: number[] = [];
  for (let i = 0; i < ROUND_TRIPS; i += 1) {
    const started = measuredMs();
    await send();
    took.push(measuredMs() - started);
  }
  took.sort((a, b) => a - b);
  return { medianMs: took[ROUND_TRIPS / 2] as number, slowestMs: took.at(-1) as number };
}

/** Returns the arguments of the Lua script: for each command the number of its words, then the words. */
function words(probes: readonly Probe[]): string[] {
  return probes.flatMap(({ call }) => [String(call.length), ...call]);
}

/**
 * Returns the commands that the user may not run. @param reply one number per command: 1 permitted, 0 refused, -1 unknown to this server
 */
function refusedOf(reply: unknown, probes: readonly Probe[]): Probe[] {
  const permitted = reply as readonly number[];
  return probes.filter((_, i) => Number(permitted[i]) === 0);
}

async function keyspaceOf(node: Node, prefix: string): Promise<Keyspace> {
  const libs = new Map<string, number>();
  const total = Number(await node.call('DBSIZE').catch(() => 0));
  const pattern = `${prefix.replaceAll(/[\\*?[\]]/g, '\\$&')}:*`;
  let cursor = '0';
  let scanned = 0;
  do {
    const [next, keys] = (await node.call('SCAN', cursor, 'MATCH', pattern, 'COUNT', 1_000)) as [string, string[]];
    for (const key of keys) {
      const lib = key.slice(prefix.length + 1).split(':', 1)[0] ?? '';
      libs.set(lib, (libs.get(lib) ?? 0) + 1);
    }
    cursor = String(next);
    scanned += 1_000;
  } while (cursor !== '0' && scanned < MOST_KEYS);
  return { scanned: cursor === '0' ? total : Math.min(scanned, total), total, libs };
}
