import type { Cluster, Redis } from 'ioredis';
import { Checks, shown } from '../../../internal/src';
import { IoredisCluster } from './ioredis-cluster';
import { IoredisStandalone } from './ioredis-standalone';
import type { RedisConnection } from './port';

function isCluster(client: Redis | Cluster): client is Cluster {
  return 'isCluster' in client && client.isCluster;
}

const checks = new Checks('ScriptRegistryModule');

/**
 * Makes the RedisConnection of an ioredis client.
 *
 * @throws InvalidOptionError if `client` has no method `sendCommand`, so that it is not a client of ioredis, or if it has a
 *   `keyPrefix`
 */
export function connectIoredis(client: Redis | Cluster): RedisConnection {
  if (typeof client !== 'object' || client === null || typeof client.sendCommand !== 'function') {
    checks.refuse('client', client, 'a Redis or a Cluster of ioredis');
  }
  const keyPrefix = isCluster(client)
    ? (client.options.keyPrefix ?? client.options.redisOptions?.keyPrefix)
    : client.options.keyPrefix;
  if (keyPrefix) {
    throw checks.error(
      `client has keyPrefix ${shown(keyPrefix)}. Remove keyPrefix and set \`prefix\` of ScriptRegistryModule instead.`,
    );
  }
  return isCluster(client) ? new IoredisCluster(client) : new IoredisStandalone(client);
}
