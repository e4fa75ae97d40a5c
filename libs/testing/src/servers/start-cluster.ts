import { Checks, type KnownOptions } from '../../../internal/src/without-nest';
import { RedisCluster } from './redis-cluster';
import { KNOWN_OF_SERVERS, serverSettings, type CommonServerOptions } from './start-redis';

/** Options of {@link startCluster}. */
export interface RedisClusterOptions extends CommonServerOptions {
  /** Number of masters, 1 to 16. Default 3. */
  readonly masters?: number;
  /** Number of replicas of each master, 0 to 3. Default 1. */
  readonly replicas?: number;
  /**
   * How long a node may be silent before the other nodes start a failover, ms; 200 to 600,000. Default 1,000. On a busy machine, a short
   * time may cause failovers that the test does not want.
   */
  readonly nodeTimeoutMs?: number;
}

const KNOWN: KnownOptions<RedisClusterOptions> = {
  masters: true,
  replicas: true,
  nodeTimeoutMs: true,
  ...KNOWN_OF_SERVERS,
};

/**
 * Starts a Redis Cluster on 127.0.0.1, without persistence. Resolves when all nodes agree on the Cluster. The nodes end with `stop()`, or
 * when this process ends.
 *
 * @throws InvalidOptionError for an invalid option; TestServerError if there is no redis-server, it is older than 7.0, a node does
 * not start, or the nodes do not agree
 */
export async function startCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const checks = new Checks('startCluster');
  const known = checks.options('', options, KNOWN);
  const { masters = 3, replicas = 1, nodeTimeoutMs = 1_000 } = known;
  checks.integer('masters', masters, 1, 16);
  checks.integer('replicas', replicas, 0, 3);
  checks.integer('nodeTimeoutMs', nodeTimeoutMs, 200, 600_000);
  return RedisCluster.start({ masters, replicas, nodeTimeoutMs }, await serverSettings(checks, known));
}
