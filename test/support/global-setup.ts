// Jest does not map module names here.
import { startCluster, startRedis, type RedisServer } from '../../libs/testing/src/servers';
import { withAdmin } from './admin';
import './note-server-faults.cjs';
import { CLUSTER_VARIABLE, STANDALONE_VARIABLE, sharedServers } from './shared-servers';

/** Starts once, for all test files, one standalone server and one Cluster; Jest's workers inherit the variables. */
export default async function globalSetup(): Promise<void> {
  const starting = [startRedis(), startCluster()] as const;
  try {
    const [standalone, cluster] = await Promise.all(starting);
    // The short timeout made the start quick. No test fails over this Cluster, so from now on a node that stands still keeps its
    // slots.
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
