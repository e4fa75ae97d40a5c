import { Checks, type KnownOptions } from '../../../internal/src/without-nest';
import { RedisSentinel } from './redis-sentinel';
import { KNOWN_OF_SERVERS, serverSettings, type CommonServerOptions } from './start-redis';

/** Options of {@link startSentinel}. */
export interface RedisSentinelOptions extends CommonServerOptions {
  /** Number of replicas, 1 to 5. Default 1. */
  readonly replicas?: number;
  /** Number of Sentinels, 1 to 5. Default 1, which is enough for a failover. */
  readonly sentinels?: number;
}

const KNOWN: KnownOptions<RedisSentinelOptions> = {
  replicas: true,
  sentinels: true,
  ...KNOWN_OF_SERVERS,
};

/**
 * Starts a master, its replicas and their Sentinels on 127.0.0.1, without persistence. Resolves when the Sentinels know all servers.
 * The servers end with `stop()`, or when this process ends.
 *
 * @throws InvalidOptionError for an invalid option; TestServerError if there is no redis-server, it is older than 7.0, or a server
 * does not start
 */
export async function startSentinel(options: RedisSentinelOptions = {}): Promise<RedisSentinel> {
  const checks = new Checks('startSentinel');
  const known = checks.options('', options, KNOWN);
  const { replicas = 1, sentinels = 1 } = known;
  checks.integer('replicas', replicas, 1, 5);
  checks.integer('sentinels', sentinels, 1, 5);
  return RedisSentinel.start({ replicas, sentinels }, await serverSettings(checks, known));
}
