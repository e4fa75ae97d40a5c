import { Redis } from 'ioredis';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makePrivateFolder } from './private-file';
import { EmbeddedRedisError, RedisFolder } from './redis-folder';
import { type RedisEndpoint, sendInline } from './redis-inline';
import { type EmbeddedRedisLog, ServerWatch } from './server-watch';

const MASTERS = 3;
const SLOTS = 16_384;
const PATIENCE_MS = 30_000;

/** A Redis Cluster of three masters without replicas in a data folder, for trials on one machine. */
export class EmbeddedCluster {
  private readonly watches: readonly ServerWatch[];

  private constructor(
    private readonly folders: readonly RedisFolder[],
    /** Addresses of the masters. They share one password. */
    readonly endpoints: readonly RedisEndpoint[],
    logger: EmbeddedRedisLog,
  ) {
    this.watches = endpoints.map((endpoint, i) => new ServerWatch(folders[i] as RedisFolder, endpoint, logger));
  }

  /**
   * Starts the servers, on their previous ports if those are free, and joins the servers to one Cluster. A server that dies
   * is started again on its port.
   *
   * @throws {EmbeddedRedisError} if a server cannot be started, or the Cluster is not ready within 30 s
   */
  static async start(dataDir: string, logger: EmbeddedRedisLog): Promise<EmbeddedCluster> {
    const root = join(dataDir, 'cluster');
    await makePrivateFolder(dataDir);
    await makePrivateFolder(root);
    const options = {
      cluster: true,
      passwordPath: join(root, 'password'),
      config: ['cluster-enabled yes', 'cluster-config-file nodes.conf', 'cluster-announce-ip 127.0.0.1'],
    };
    const folders = Array.from(
      { length: MASTERS },
      (_, i) => new RedisFolder(join(root, String(i + 1)), PATIENCE_MS, options),
    );
    const endpoints: RedisEndpoint[] = [];
    // One after the other, because two servers that look for a free port at the same time may find the same one.
    for (const folder of folders) endpoints.push(await folder.ensureServer());
    const cluster = new EmbeddedCluster(folders, endpoints, logger);
    try {
      await cluster.form();
      for (const watch of cluster.watches) watch.start();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.watches.map((watch) => watch.stop()));
    await Promise.all(this.endpoints.map((endpoint) => sendInline(endpoint, 'SHUTDOWN', 10_000)));
    await Promise.all(this.folders.map((folder) => folder.waitUntilEmpty()));
  }

  /** Assigns slots to masters without slots, joins the masters, and waits until the Cluster is ready. */
  private async form(): Promise<void> {
    const clients = this.endpoints.map((endpoint) => new Redis({ ...endpoint, maxRetriesPerRequest: 1 }));
    try {
      for (const [i, client] of clients.entries()) {
        if ((await infoOf(client)).get('cluster_slots_assigned') !== '0') continue;
        const [from, to] = [i, i + 1].map((part) => Math.floor((part * SLOTS) / MASTERS)) as [number, number];
        // Refused if the node has an epoch or knows other nodes. Then the nodes settle their epochs themselves.
        await client.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1).catch(() => undefined);
        await client.call('CLUSTER', 'ADDSLOTSRANGE', from, to - 1);
      }
      // The masters are joined at each start, because ports may have changed. CLUSTER MEET of a known node is harmless.
      for (const { host, port } of this.endpoints) await clients[0]?.call('CLUSTER', 'MEET', host, port);
      const deadline = Date.now() + PATIENCE_MS;
      while (!(await this.isWhole(clients))) {
        if (Date.now() > deadline) throw new EmbeddedRedisError('The Redis Cluster was not ready within 30 s.');
        await sleep(100);
      }
    } finally {
      for (const client of clients) client.disconnect();
    }
  }

  private async isWhole(clients: readonly Redis[]): Promise<boolean> {
    const infos = await Promise.all(clients.map(infoOf));
    return infos.every(
      (info) => info.get('cluster_state') === 'ok' && info.get('cluster_known_nodes') === String(MASTERS),
    );
  }
}

async function infoOf(client: Redis): Promise<Map<string, string>> {
  const text = String(await client.call('CLUSTER', 'INFO'));
  return new Map(text.split('\r\n').map((line) => line.split(':') as [string, string]));
}
