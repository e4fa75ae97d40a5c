import { nodeOpener, type Node } from '../redis/node';
import { mastersOf, type Master } from '../redis/servers';
import type { InstalledClient } from '../redis/installed-client';
import { clusterMode, clusterState } from './checks/cluster';
import { eviction, keyspace, persistence } from './checks/data';
import { lua, permissions } from './checks/scripts';
import { clock, latency, readiness, replication, version } from './checks/server';
import { askServer, fields, type ServerFacts } from './facts';
import { type Finding, joinEqual, type ServerFinding } from './finding';

/** Options of `examine`. */
export interface Examination {
  readonly url: URL;
  readonly cluster: boolean;
  /** Option `prefix` of the app's ScriptRegistryModule. */
  readonly prefix: string;
  /** Folder of the app, whose node_modules have ioredis or redis. */
  readonly folder: string;
  /** The client package to use. Default: ioredis if it is installed, otherwise redis. */
  readonly client?: InstalledClient['kind'];
}

/** Examines one Redis server, or all masters of a Cluster. @throws ConnectError, UsageError */
export async function examine({ url, cluster, prefix, folder, client }: Examination): Promise<Finding[]> {
  const open = nodeOpener(folder, client);
  const first = await open(url);
  let masters: readonly Master[] = [];
  try {
    const mode = await modeOf(first, cluster);
    if (mode) return [mode];
    masters = cluster ? await mastersOf(first, url, open) : [{ node: first }];
    const servers: ServerFacts[] = [];
    // One server after the other, because parallel requests would distort the round-trip times.
    for (const master of masters)
      servers.push(await askServer(master, prefix, decodeURIComponent(url.username) || 'default'));
    const findings = servers.flatMap((facts) =>
      findingsOf(facts, prefix).map((finding): Finding => ({ ...finding, nodes: [facts.id] })),
    );
    return joinEqual([...findings, ...clusterState(servers)]);
  } finally {
    first.close();
    for (const { node } of masters) node.close();
  }
}

async function modeOf(node: Node, cluster: boolean): Promise<Finding | undefined> {
  const info = await node.call('INFO').then(String, () => undefined);
  return info === undefined ? undefined : clusterMode(fields(info), cluster);
}

function findingsOf(facts: ServerFacts, prefix: string): ServerFinding[] {
  const { info } = facts;
  const scripts = [lua(facts, prefix), ...permissions(facts), clock(facts), ...latency(facts), keyspace(facts, prefix)];
  if ('error' in info)
    return [
      {
        check: 'info',
        level: 'error',
        found: `INFO failed: ${info.error}`,
        why: 'Version, eviction, persistence and replicas are not known. ioredis needs INFO to connect.',
        remedy: `Run ACL SETUSER ${facts.user} +info.`,
      },
      ...scripts,
    ];
  return [
    version(info.value),
    ...readiness(info.value),
    ...eviction(info.value),
    ...persistence(info.value, facts.config),
    ...replication(info.value),
    ...scripts,
  ];
}
