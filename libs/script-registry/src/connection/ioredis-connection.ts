import type { Cluster, Redis } from 'ioredis';
import { Checks, shown } from '../../../internal/src';
import { IoredisCluster } from './ioredis-cluster';
import { IoredisStandalone } from './ioredis-standalone';
import type { RedisConnection } from './port';

function isCluster(client: Redis | Cluster): client is Cluster {
  return 'isCluster' in client && client.isCluster;
}

/** A client of node-redis has a method `sendCommand`, too, but no `status`. */
function isIoredis(client: unknown): boolean {
  const { sendCommand, status } = (client ?? {}) as { sendCommand?: unknown; status?: unknown };
  return typeof sendCommand === 'function' && typeof status === 'string';
}

const checks = new Checks('ScriptRegistryModule');

/**
 * Makes the RedisConnection of an ioredis client.
 *
 * @throws InvalidOptionError if `client` is not a client of ioredis, or has `keyPrefix` or `stringNumbers`
 */
export function connectIoredis(client: Redis | Cluster): RedisConnection {
  if (!isIoredis(client)) checks.refuse('client', client, 'a Redis or a Cluster of ioredis');
  const options = isCluster(client) ? { ...client.options.redisOptions, ...client.options } : client.options;
  const { keyPrefix, stringNumbers } = options;
  if (keyPrefix) {
    throw checks.error(
      `client has keyPrefix ${shown(keyPrefix)}. Remove keyPrefix and set \`prefix\` of ScriptRegistryModule instead.`,
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
