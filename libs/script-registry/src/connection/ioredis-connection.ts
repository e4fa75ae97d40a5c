/* eslint-disable-next-line @typescript-eslint/ban-ts-comment -- the comment is kept in the published types */
/** @ts-ignore -- ioredis is optional. In an app without it, these types are any. */
import type { Cluster, Redis } from 'ioredis';
import { Checks, shown } from '../../../internal/src';
import { isCluster } from './disconnect';
import { IoredisCluster } from './ioredis-cluster';
import { IoredisStandalone } from './ioredis-standalone';
import type { RedisConnection } from './port';

/** A client of ioredis, or of iovalkey, which is a fork of ioredis. */
export type IoredisClient = Redis | Cluster;

/** Returns true for a client of ioredis. A client of node-redis also has `sendCommand`, but no `status`. */
export function isIoredis(client: unknown): client is IoredisClient {
  const { sendCommand, status } = (client ?? {}) as { sendCommand?: unknown; status?: unknown };
  return typeof sendCommand === 'function' && typeof status === 'string';
}

const checks = new Checks('ScriptRegistryModule');

/**
 * Creates a RedisConnection for an ioredis client.
 *
 * @throws InvalidOptionError if `client` has `keyPrefix` or `stringNumbers`
 */
export function connectIoredis(client: IoredisClient): RedisConnection {
  const options = isCluster(client) ? { ...client.options.redisOptions, ...client.options } : client.options;
  const { keyPrefix, stringNumbers } = options;
  if (keyPrefix) {
    throw checks.error(
      `client has keyPrefix ${shown(keyPrefix)}, which luanest does not support. Remove keyPrefix from the client, and set \`prefix\` of ScriptRegistryModule instead.`,
    );
  }
  if (stringNumbers === true) {
    throw checks.error(
      'client has stringNumbers: true, so an integer of a reply could not be distinguished from text. Remove stringNumbers, or let ' +
        'ScriptRegistryModule make a client of its own with `url` or `connection`.',
    );
  }
  return isCluster(client) ? new IoredisCluster(client) : new IoredisStandalone(client);
}
