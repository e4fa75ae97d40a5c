import type { Info, ServerFacts } from '../facts';
import { type Finding, ok } from '../finding';

/** Returns a finding if `--cluster` was given for a server without a Cluster, or was not given for a server in one. */
export function clusterMode(info: Info, asked: boolean): Finding | undefined {
  const is = info.get('cluster_enabled') === '1';
  if (is === asked) return undefined;
  return is
    ? {
        check: 'cluster',
        level: 'error',
        found: 'The server belongs to a Cluster.',
        why: 'A client that connects to one server reaches only the keys of its slots, and gets MOVED for the others.',
        remedy:
          'Run luanest doctor with --cluster. In the app use connection: { nodes: [...] } or a Cluster client: see docs/cluster-and-sentinel.md.',
      }
    : {
        check: 'cluster',
        level: 'error',
        found: 'The server does not belong to a Cluster.',
        why: 'A Cluster client cannot connect to this server.',
        remedy:
          'Run luanest doctor without --cluster, and use `url` in the app. Or set cluster-enabled yes in the server.',
      };
}

/** Checks the state of a Cluster and of its slots. */
export function clusterState(servers: readonly ServerFacts[]): Finding[] {
  const views = servers.flatMap(({ id, cluster }) =>
    cluster && 'value' in cluster ? [{ id, info: cluster.value }] : [],
  );
  const [first] = views;
  if (first === undefined) return [];
  const assigned = Number(first.info.get('cluster_slots_assigned'));
  const failing = views.filter(({ info }) => info.get('cluster_state') !== 'ok').map(({ id }) => id);
  const size = Number(first.info.get('cluster_size'));
  const found: Finding[] = [];
  if (assigned < 16_384)
    found.push({
      check: 'cluster',
      level: 'error',
      found: `${16_384 - assigned} of 16384 hash slots belong to no master.`,
      why: 'Calls whose keys are in these slots fail. With cluster-require-full-coverage yes, all calls fail.',
      remedy: 'Start the lost master again, or run redis-cli --cluster fix HOST:PORT.',
    });
  if (failing.length > 0)
    found.push({
      check: 'cluster',
      level: 'error',
      nodes: failing,
      found: 'The Cluster is down (cluster_state is fail).',
      why: 'The node refuses commands (CLUSTERDOWN).',
      remedy: 'Start the nodes that are down. redis-cli --cluster check HOST:PORT shows them.',
    });
  if (found.length === 0) found.push(ok('cluster', `cluster_state is ok, 16384 slots on ${size} masters`));
  return found;
}
