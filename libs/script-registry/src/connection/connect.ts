import { Checks, shown } from '../../../internal/src';
import { connectIoredis, isIoredis } from './ioredis-connection';
import { type NodeRedisCluster, NodeRedisClusterConnection } from './node-redis-cluster';
import type { NodeRedisClient } from './node-redis-node';
import { type NodeRedisSentinel, NodeRedisSentinelConnection, NodeRedisStandalone } from './node-redis-standalone';
import type { RedisConnection } from './port';

/**
 * A client of ioredis, iovalkey or node-redis. Its type is as wide as this, because each package and version has types of its own, and the
 * app need not have installed them all. What it is, is checked when the module makes its connection.
 */
export interface AnyClient {
  readonly sendCommand: unknown;
  connect(): Promise<unknown>;
}

const EXPECTED =
  'a Redis or a Cluster of ioredis or iovalkey, or the result of createClient, createCluster or createSentinel of redis (node-redis)';

const checks = new Checks('ScriptRegistryModule');

/**
 * Makes the RedisConnection of a client. The client is recognised by what it can do, so that one of another copy of its package works too.
 *
 * @throws InvalidOptionError if `client` is another object, or has an option that its scripts cannot work with
 */
export function connectClient(client: AnyClient): RedisConnection {
  if (isIoredis(client)) return connectIoredis(client);
  const found = (client ?? {}) as Partial<NodeRedisClient & NodeRedisCluster & NodeRedisSentinel>;
  if (typeof found.isOpen === 'boolean') {
    refuseKeyPrefix(found);
    if (typeof found._slots?.rediscover === 'function')
      return new NodeRedisClusterConnection(found as NodeRedisCluster);
    if (typeof found._execute === 'function' && typeof found.getMasterNode === 'function')
      return new NodeRedisSentinelConnection(found as NodeRedisSentinel);
    if (typeof found.sendCommand === 'function' && typeof found.duplicate === 'function' && 'isReady' in found)
      return new NodeRedisStandalone(found as NodeRedisClient);
  }
  return checks.refuse('client', client, EXPECTED);
}

/** node-redis puts its prefix before the keys of its own commands only, so two halves of an app would use different keys. */
function refuseKeyPrefix(client: object): void {
  const { _keyPrefix: keyPrefix } = client as { _keyPrefix?: unknown };
  if (keyPrefix === undefined || keyPrefix === '') return;
  throw checks.error(
    `client has keyPrefix ${shown(keyPrefix)}. Remove keyPrefix and set \`prefix\` of ScriptRegistryModule instead.`,
  );
}
