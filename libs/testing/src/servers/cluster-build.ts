import { withAdmin } from './admin';
import { isFailing, viewOf } from './cluster-view';
import { TestServerError } from './errors';
import { freeClusterPort } from './free-port';
import { RedisServer, type ServerSettings } from './redis-server';
import { eventually } from './wait';

const SLOTS = 16_384;

export async function startNodes(
  count: number,
  nodeTimeoutMs: number,
  { args, ...settings }: ServerSettings,
): Promise<RedisServer[]> {
  const nodeArgs = [
    ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf'],
    ['--cluster-node-timeout', String(nodeTimeoutMs)],
    // These settings keep a replica with its master, and let it become the master even if its data is old. So a test knows which node will
    // be promoted.
    ['--cluster-allow-replica-migration', 'no', '--cluster-replica-validity-factor', '0'],
    ['--repl-ping-replica-period', '1'],
    args,
  ].flat();
  const starting = Array.from({ length: count }, () =>
    RedisServer.start({ ...settings, args: nodeArgs }, { pick: freeClusterPort }),
  );
  const outcomes = await Promise.allSettled(starting);
  const nodes = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (!failed) return nodes;
  await Promise.all(nodes.map((node) => node.stop()));
  throw failed.reason;
}

/** Makes a Cluster of nodes. The first `masters` nodes share the slots evenly; the others become replicas, in turn. */
export async function joinNodes(nodes: readonly RedisServer[], masters: number): Promise<void> {
  await Promise.all(nodes.slice(0, masters).map((node, index) => assignSlots(node, index, masters)));
  // By gossip alone, it would take seconds until all nodes know each other, so CLUSTER MEET is sent for each pair.
  await Promise.all(nodes.map((node, index) => meet(node, nodes.slice(index + 1))));
  const ids = await Promise.all(nodes.map((node) => untilAcquainted(node, nodes)));
  await Promise.all(
    nodes.slice(masters).map((replica, index) =>
      // A replica refuses this command until it knows that the other node is a master.
      eventually(() =>
        withAdmin(replica, (admin) => admin.call('CLUSTER', 'REPLICATE', ids[index % masters] as string)),
      ),
    ),
  );
}

function assignSlots(node: RedisServer, index: number, masters: number): Promise<unknown> {
  const first = Math.floor((SLOTS * index) / masters);
  const last = Math.floor((SLOTS * (index + 1)) / masters) - 1;
  return withAdmin(node, async (admin) => {
    await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
    await admin.call('CLUSTER', 'ADDSLOTSRANGE', first, last);
  });
}

function meet(node: RedisServer, others: readonly RedisServer[]): Promise<unknown> {
  return withAdmin(node, (admin) =>
    Promise.all(others.map(({ host, port }) => admin.call('CLUSTER', 'MEET', host, port))),
  );
}

function untilAcquainted(node: RedisServer, all: readonly RedisServer[]): Promise<string> {
  const look = async (): Promise<string> => {
    const { nodes, self } = await viewOf(node);
    // Nodes forget a node that was paused for too long during CLUSTER MEET, so it must meet them again.
    const strangers = all.filter(({ port }) => !nodes.some((other) => other.port === port));
    if (strangers.length > 0) await meet(node, strangers);
    const known = nodes.filter((other) => !isFailing(other) && (other === self || other.linked));
    if (known.length !== all.length || nodes.length !== all.length) {
      throw new TestServerError(
        `The test Cluster is not ready yet: the node on port ${node.port} knows ${nodes.length} of ${all.length} nodes, and can reach ` +
          `${known.length} of them. If this lasts, the machine is overloaded: run fewer tests at once.`,
      );
    }
    return self.id;
  };
  return eventually(look, { timeoutMs: 20_000 });
}
