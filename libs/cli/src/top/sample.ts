import { measuredMs } from '../../../internal/src/without-nest';
import { fields } from '../doctor/facts';
import type { Node } from '../redis/node';

/** Counters of one command since the start of the server, or summed up for the masters of a Cluster. */
export interface CommandCounters {
  readonly calls: number;
  /** Total execution time in Redis, microseconds. */
  readonly usec: number;
  /** Number of calls that Redis refused, or that failed. */
  readonly failed: number;
  /** 99th percentile of the execution time since the start of the server, microseconds; for a Cluster, the highest of its masters. */
  readonly p99Usec: number;
}

/** Counters of all servers at one moment. */
export interface Sample {
  readonly atMs: number;
  readonly commands: ReadonlyMap<string, CommandCounters>;
  readonly clients: number;
  readonly memory: number;
  readonly keys: number;
  readonly servers: number;
}

const NONE: CommandCounters = { calls: 0, usec: 0, failed: 0, p99Usec: 0 };

/** Reads the counters of all servers, with one command to each. */
export async function takeSample(nodes: readonly Node[]): Promise<Sample> {
  const infos = await Promise.all(
    nodes.map(async (node) =>
      fields(String(await node.call('INFO', 'clients', 'memory', 'keyspace', 'commandstats', 'latencystats'))),
    ),
  );
  const commands = new Map<string, CommandCounters>();
  for (const info of infos) {
    for (const [name, text] of info) addCommand(commands, name, text);
  }
  const sum = (read: (info: Map<string, string>) => number): number =>
    infos.reduce((total, info) => total + read(info), 0);
  return {
    atMs: measuredMs(),
    commands,
    clients: sum((info) => Number(info.get('connected_clients') ?? 0)),
    memory: sum((info) => Number(info.get('used_memory') ?? 0)),
    keys: sum((info) =>
      [...info].filter(([name]) => /^db\d+$/.test(name)).reduce((n, [, text]) => n + numberIn(text, 'keys'), 0),
    ),
    servers: nodes.length,
  };
}

/** Adds the counters of one line of INFO: `cmdstat_get:calls=1,usec=2,...` or `latency_percentiles_usec_get:p50=1,p99=2,...`. */
function addCommand(commands: Map<string, CommandCounters>, name: string, text: string): void {
  const [, kind, command = ''] = /^(cmdstat|latency_percentiles_usec)_(.+)$/.exec(name) ?? [];
  if (kind === undefined) return;
  const before = commands.get(command) ?? NONE;
  commands.set(
    command,
    kind === 'cmdstat'
      ? {
          ...before,
          calls: before.calls + numberIn(text, 'calls'),
          usec: before.usec + numberIn(text, 'usec'),
          failed: before.failed + numberIn(text, 'rejected_calls') + numberIn(text, 'failed_calls'),
        }
      : { ...before, p99Usec: Math.max(before.p99Usec, numberIn(text, 'p99')) },
  );
}

function numberIn(text: string, name: string): number {
  const [, value = '0'] = new RegExp(`(?:^|,)${name}=([\\d.]+)`).exec(text) ?? [];
  return Number(value);
}
