import { startCluster, startRedis } from '../libs/testing/src/servers';
import { CLUSTER_VARIABLE, STANDALONE_VARIABLE } from '../test/support/shared-servers';

/** Starts the servers that test files share, for processes that are started afterwards. @returns how to stop them */
export async function startServers(): Promise<() => Promise<void>> {
  const [standalone, cluster] = await Promise.all([startRedis(), startCluster()]);
  process.env[STANDALONE_VARIABLE] = standalone.url;
  process.env[CLUSTER_VARIABLE] = JSON.stringify(cluster.startupNodes);
  return async () => {
    await Promise.all([standalone.stop(), cluster.stop()]);
  };
}
