import { Checks, type KnownOptions } from '../../../internal/src/without-nest';
import { usableBinary } from './redis-binary';
import { RedisSentinel } from './redis-sentinel';
import { START_TIMEOUT_MS, checkServerOptions } from './start-redis';

/** Options of {@link startSentinel}. */
export interface RedisSentinelOptions {
  /** Name of the master: letters, digits, `.`, `_` and `-`. Default `mymaster`. */
  readonly name?: string;
  /** Number of replicas, 1 to 5. Default 1. */
  readonly replicas?: number;
  /** Number of Sentinels, 1 to 5. Default 1, which is enough to fail over. */
  readonly sentinels?: number;
  /** How long a server may be silent before a Sentinel takes it for down, ms, 100 to 600,000. Default 500. */
  readonly downAfterMs?: number;
  /** The same as for `startRedis`. */
  readonly binary?: string;
  /** Arguments for the master and the replicas, such as `['--appendonly', 'yes']`. Default: none. */
  readonly args?: readonly string[];
  /** How long the start of one server may take, ms, 100 to 600,000. Default 10,000. */
  readonly startTimeoutMs?: number;
}

const KNOWN: KnownOptions<RedisSentinelOptions> = {
  name: true,
  replicas: true,
  sentinels: true,
  downAfterMs: true,
  binary: true,
  args: true,
  startTimeoutMs: true,
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
  const { args = [], startTimeoutMs = START_TIMEOUT_MS } = known;
  checkServerOptions(checks, options);
  checks.text('name', name, /^[\w.-]+$/, 'letters, digits, ".", "_" and "-"');
  checks.integer('replicas', replicas, 1, 5);
  checks.integer('sentinels', sentinels, 1, 5);
  checks.integer('downAfterMs', downAfterMs, 100, 600_000);
  const binary = await usableBinary(checks.where, options.binary);
  return RedisSentinel.start({ name, replicas, sentinels, downAfterMs }, { binary, args, startTimeoutMs });
}
