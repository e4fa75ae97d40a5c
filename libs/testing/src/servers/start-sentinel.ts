import { Checks, type KnownOptions } from '../../../internal/src/without-nest';
import { RedisSentinel } from './redis-sentinel';
import { serverSettings, type CommonServerOptions } from './start-redis';

/** Options of {@link startSentinel}. */
export interface RedisSentinelOptions extends CommonServerOptions {
  /** Name of the master: letters, digits, `.`, `_` and `-`. Default `mymaster`. */
  readonly name?: string;
  /** Number of replicas, 1 to 5. Default 1. */
  readonly replicas?: number;
  /** Number of Sentinels, 1 to 5. Default 1, which is enough to fail over. */
  readonly sentinels?: number;
  /** How long a server may be silent before a Sentinel takes it for down, ms, 100 to 600,000. Default 500. */
  readonly downAfterMs?: number;
}

const KNOWN: KnownOptions<RedisSentinelOptions> = {
  name: true,
  replicas: true,
  sentinels: true,
  downAfterMs: true,
  binary: true,
  args: true,
};

/**
 * Starts a master, its replicas and their Sentinels on 127.0.0.1, without persistence. Resolves when the Sentinels know all of them.
 * They end with `stop()`, or when this process ends.
 *
 * @throws InvalidOptionError for an invalid option; TestServerError if there is no redis-server, it is older than 7.0, or a server
 * does not start
 */
export async function startSentinel(options: RedisSentinelOptions = {}): Promise<RedisSentinel> {
  const checks = new Checks('startSentinel');
  const known = checks.options('', options, KNOWN);
  const { name = 'mymaster', replicas = 1, sentinels = 1, downAfterMs = 500 } = known;
  checks.text('name', name, /^[\w.-]+$/, 'letters, digits, ".", "_" and "-"');
  checks.integer('replicas', replicas, 1, 5);
  checks.integer('sentinels', sentinels, 1, 5);
  checks.integer('downAfterMs', downAfterMs, 100, 600_000);
  return RedisSentinel.start({ name, replicas, sentinels, downAfterMs }, await serverSettings(checks, known));
}
