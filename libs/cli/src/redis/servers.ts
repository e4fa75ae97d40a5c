import { UsageError } from '../usage-error';
import type { Node, OpenNode } from './node';

/** Range of hash slots, including both ends. */
export type SlotRange = readonly [from: number, to: number];

/** A connected master. `slots` is undefined without a Cluster. */
export interface Master {
  readonly node: Node;
  readonly slots?: readonly SlotRange[];
}

/** Reads the address of Redis from the option `--redis`, or else from the environment variable REDIS_URL. @throws UsageError */
export function redisUrl(option: unknown, environment: Readonly<Record<string, string | undefined>>): URL {
  const given = typeof option === 'string' ? option : environment.REDIS_URL;
  if (given === undefined || given === '')
    throw new UsageError(
      'No address of Redis was given. Give --redis redis://host:6379, or set the environment variable REDIS_URL.',
    );
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !/^rediss?:$/.test(url.protocol) || url.hostname === '')
    // The given text may contain a password, so the message does not show it.
    throw new UsageError(
      'The address of Redis is not a URL. Expected redis://user:password@host:6379, or rediss:// with TLS.',
    );
  return url;
}

/** Connects to a server, or to all masters of a Cluster. */
export async function openMasters(url: URL, cluster: boolean, open: OpenNode): Promise<Master[]> {
  const first = await open(url);
  if (!cluster) return [{ node: first }];
  try {
    return await mastersOf(first, url, open);
  } finally {
    first.close();
  }
}

/** Connects to all masters of a Cluster that have hash slots. @param first open connection to one of its nodes */
export async function mastersOf(first: Node, url: URL, open: OpenNode): Promise<Master[]> {
  const slots = (await first.call('CLUSTER', 'SLOTS')) as readonly [number, number, readonly [string, number]][];
  const ranges = new Map<string, SlotRange[]>();
  for (const [from, to, [host, port]] of slots) {
    const id = `${host || url.hostname}:${port}`;
    ranges.set(id, [...(ranges.get(id) ?? []), [from, to]]);
  }
  const masters: Master[] = [];
  try {
    for (const [id, owned] of ranges) {
      const address = new URL(url);
      address.host = id;
      masters.push({ node: await open(address), slots: owned });
    }
  } catch (error) {
    for (const { node } of masters) node.close();
    throw error;
  }
  return masters;
}
