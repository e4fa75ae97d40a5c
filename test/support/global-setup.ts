import { withAdmin } from './admin';
import { RedisCluster } from './redis-cluster';
import { RedisServer } from './redis-server';
import { CLUSTER_VARIABLE, STANDALONE_VARIABLE, sharedServers } from './shared-servers';

/** Starts once, for all test files, one standalone server and one Cluster; Jest's workers inherit the variables. */
export default async function globalSetup(): Promise<void> {
  // Nobody fails over here: a node that stands still for a second or two keeps its slots.
  const starting = [RedisServer.start(), RedisCluster.start({ nodeTimeoutMs: 5_000 })] as const;
  try {
    const [standalone, cluster] = await Promise.all(starting);
    // It was put together quickly; from now on no node that stands still for a moment is to be failed over.
    const patient = (node: RedisServer) =>
      withAdmin(node, (admin) => admin.config('SET', 'cluster-node-timeout', 30_000));
    await Promise.all(cluster.nodes.map(patient));
    process.env[STANDALONE_VARIABLE] = standalone.url;
    process.env[CLUSTER_VARIABLE] = JSON.stringify(cluster.startupNodes);
    sharedServers.push(standalone, cluster);
  } catch (error) {
    for (const started of await Promise.allSettled(starting)) {
      if (started.status === 'fulfilled') await started.value.stop();
    }
    throw error;
  }
}
