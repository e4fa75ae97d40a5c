import { Checks, type KnownOptions } from '../../../internal/src/without-nest';
import type { Address } from './admin';
import { usableBinary } from './redis-binary';
import { RedisServer } from './redis-server';

/** Options of all functions that start servers. */
export interface CommonServerOptions {
  /**
   * Path of a redis-server, or its name on the PATH: Redis 7.0 or newer, or Valkey. Default: the environment variable
   * REDIS_SERVER_BIN, or else `redis-server`, or else `valkey-server`.
   */
  readonly binary?: string;
  /** Arguments for each server except Sentinels, such as `['--appendonly', 'yes']`. They override those of luanest. Default: none. */
  readonly args?: readonly string[];
}

/** Options of {@link startRedis}. */
export interface RedisServerOptions extends CommonServerOptions {
  /** TCP port on 127.0.0.1, 1 to 65535. Default: a free one. */
  readonly port?: number;
  /** Master to follow as a replica, such as another server. Default: none. */
  readonly replicaOf?: Address;
}

export const KNOWN_OF_SERVERS: KnownOptions<CommonServerOptions> = { binary: true, args: true };

/** How long the start of one server may take, ms. */
const START_TIMEOUT_MS = 30_000;

/** Checks the options that all servers have, and finds the program. @returns the options, with defaults filled in */
export async function serverSettings(
  checks: Checks,
  { binary, args = [] }: CommonServerOptions,
): Promise<Required<CommonServerOptions> & { readonly startTimeoutMs: number }> {
  if (binary !== undefined) checks.text('binary', binary, /./, 'the path of a redis-server');
  const texts = checks.list('args', args, 'an array of strings');
  texts.forEach((arg, i) => checks.text(`args[${i}]`, arg, /^/, 'a string'));
  return { binary: await usableBinary(checks.where, binary), args, startTimeoutMs: START_TIMEOUT_MS };
}

const KNOWN: KnownOptions<RedisServerOptions> = {
  ...KNOWN_OF_SERVERS,
  port: true,
  replicaOf: true,
};

/**
 * Starts a redis-server on 127.0.0.1, without persistence. Resolves when the server answers. A replica must also have the data of its
 * master; this is not checked if the replica requires a password. The server ends with `stop()`, or when this process ends.
 *
 * @throws InvalidOptionError for an invalid option; TestServerError if there is no redis-server, it is older than 7.0, or it does
 * not start
 */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const checks = new Checks('startRedis');
  const known = checks.options('', options, KNOWN);
  const { port, replicaOf } = known;
  if (port !== undefined) checks.integer('port', port, 1, 65_535);
  if (replicaOf !== undefined) checkAddress(checks, 'replicaOf', replicaOf);
  const settings = { ...(await serverSettings(checks, known)), replicaOf };
  return RedisServer.start(settings, port === undefined ? undefined : { port });
}

/** Checks that an option is an object with `host` and `port`, such as a RedisServer. */
export function checkAddress(checks: Checks, name: string, address: Address): void {
  // `checks.options` would refuse a RedisServer, because it has more members.
  const { host, port } = Object(address) as Partial<Address>;
  if (typeof host === 'string' && host !== '' && Number.isInteger(port)) return;
  checks.refuse(name, address, 'an object with host (text) and port (integer), such as a server');
}
