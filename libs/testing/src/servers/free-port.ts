import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { TestServerError } from './errors';

const CLUSTER_BUS_OFFSET = 10_000;
/**
 * Number of parts of a port range. Each of up to 8 workers of Jest or Vitest uses its own part, so no worker takes the port of a server
 * that another one restarts.
 */
const PARTS = 8;
/**
 * Ports that this module has returned already. Other test files do not see this set, because Jest and Vitest load the module again for each
 * file.
 */
const given = new Set<number>();

interface Range {
  from: number;
  to: number;
}

/**
 * Returns the port ranges for tests. An outgoing connection may take any port of the operating system's ephemeral range, so that a server
 * could not be restarted there. So both ranges are below it if it begins at 31,000 or higher. They do not overlap with each other or with
 * the ports of the Cluster bus.
 */
function portRanges(): { standalone: Range; cluster: Range } {
  const ephemeral = lowestEphemeralPort();
  const busTop = Math.min(ephemeral, 32_768);
  if (busTop < 31_000) return { standalone: { from: 35_000, to: 45_000 }, cluster: { from: 20_000, to: 25_000 } };
  return {
    standalone: { from: busTop - CLUSTER_BUS_OFFSET, to: 20_000 + CLUSTER_BUS_OFFSET },
    cluster: { from: 20_000, to: busTop - CLUSTER_BUS_OFFSET },
  };
}

function lowestEphemeralPort(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').trim().split(/\s+/)[0]);
  } catch {
    return 49_152; // Range of IANA for a system without /proc, as macOS and Windows use it by default.
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

function partOf({ from, to }: Range): Range {
  const size = Math.floor((to - from) / PARTS);
  const worker = Number(process.env.JEST_WORKER_ID ?? process.env.VITEST_POOL_ID ?? process.pid);
  const start = from + size * (worker % PARTS);
  return { from: start, to: start + size };
}

async function pick(range: Range, offsets: readonly number[]): Promise<number> {
  const { from, to } = partOf(range);
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const port = randomInt(from, to);
    if (given.has(port)) continue;
    given.add(port);
    const free = await Promise.all(offsets.map((offset) => isFree(port + offset)));
    if (free.every(Boolean)) return port;
  }
  throw new TestServerError(`No free port between ${from} and ${to} after 200 tries.`);
}

/** Returns a free port on 127.0.0.1. If another process takes the port before you do, call this function again. */
export function freePort(): Promise<number> {
  return pick(portRanges().standalone, [0]);
}

/** Returns a free port for a Cluster node. The port that is 10,000 higher, for the Cluster bus, is free, too. */
export function freeClusterPort(): Promise<number> {
  return pick(portRanges().cluster, [0, CLUSTER_BUS_OFFSET]);
}
