import { Checks, type KnownOptions } from '../../../internal/src/without-nest';
import { usableBinary } from './redis-binary';
import { RedisCluster } from './redis-cluster';
import { START_TIMEOUT_MS, checkServerOptions } from './start-redis';

/** Options of {@link startCluster}. */
export interface RedisClusterOptions {
  /** Number of masters, 1 to 16. Default 3. */
  readonly masters?: number;
  /** Number of replicas of each master, 0 to 3. Default 1. */
  readonly replicas?: number;
  /**
   * How long a node may be silent before the others fail it over, ms, 200 to 600,000. Default 1,000. On a busy machine a short time
   * may cause failovers that no test asked for.
   */
  readonly nodeTimeoutMs?: number;
  /** The same as for `startRedis`. */
  readonly binary?: string;
  /** Arguments for each node, such as `['--appendonly', 'yes']`. They win over those of luanest. Default: none. */
  readonly args?: readonly string[];
  /** How long the start of one node may take, ms, 100 to 600,000. Default 10,000. */
  readonly startTimeoutMs?: number;
}

const KNOWN: KnownOptions<RedisClusterOptions> = {
  masters: true,
  replicas: true,
  nodeTimeoutMs: true,
  binary: true,
  args: true,
  startTimeoutMs: true,
};

/**
 * Starts a Redis Cluster on 127.0.0.1, without persistence. Resolves when all nodes agree on it. It ends with `stop()`, or when
 * this process ends.
 *
 * @throws InvalidOptionError for an invalid option; TestServerError if there is no redis-server, it is older than 7.0, a node does
 * not start, or the nodes do not agree
 */
export async function startCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const checks = new Checks('startCluster');
  const known = checks.options('', options, KNOWN);
  const { masters = 3, replicas = 1, nodeTimeoutMs = 1_000, args = [], startTimeoutMs = START_TIMEOUT_MS } = known;
  checkServerOptions(checks, options);
  checks.integer('masters', masters, 1, 16);
  checks.integer('replicas', replicas, 0, 3);
  checks.integer('nodeTimeoutMs', nodeTimeoutMs, 200, 600_000);
  const binary = await usableBinary(checks.where, options.binary);
  return RedisCluster.start({ masters, replicas, nodeTimeoutMs }, { binary, args, startTimeoutMs });
}
