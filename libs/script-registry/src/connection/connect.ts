import { Checks, shown } from '../../../internal/src';
import { connectIoredis, isIoredis } from './ioredis-connection';
import { type NodeRedisCluster, NodeRedisClusterConnection } from './node-redis-cluster';
import type { NodeRedisClient } from './node-redis-node';
import { type NodeRedisSentinel, NodeRedisSentinelConnection, NodeRedisStandalone } from './node-redis-standalone';
import type { RedisConnection } from './port';

/**
 * A client of ioredis, iovalkey or node-redis, or an adapter for another client. The type of a client is as wide as this, because each
 * package and version has types of its own, and the app need not have installed them all. The module checks the client when it makes its
 * connection.
 */
export type AnyClient = { readonly sendCommand: unknown; connect(): Promise<unknown> } | RedisConnection;

const EXPECTED =
  'a Redis or a Cluster of ioredis or iovalkey, the result of createClient, createCluster or createSentinel of redis (node-redis), or a ' +
  'RedisConnection';
/** Methods of RedisConnection. */
const METHODS = [
  'nodes',
  'lostMasters',
  'nodeFor',
  'sendRouted',
  'refresh',
  'dedicated',
  'subscriber',
  'listen',
  'close',
] as const satisfies readonly (keyof RedisConnection)[];

const checks = new Checks('ScriptRegistryModule');

/**
 * Makes the RedisConnection of a client, or returns the adapter that the app has made. A client is recognised by its methods, so that
 * a client of another copy of its package works, too.
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
  if (isConnection(client)) return client;
  return checks.refuse('client', client, EXPECTED);
}

/** @throws InvalidOptionError if `client` has some methods of a RedisConnection, and lacks others */
function isConnection(client: unknown): client is RedisConnection {
  const found = (client ?? {}) as Record<string, unknown>;
  if (typeof found.sendRouted !== 'function') return false;
  const missing = METHODS.filter((name) => typeof found[name] !== 'function');
  if (missing.length === 0 && typeof found.clustered === 'boolean') return true;
  const lacks = [...(typeof found.clustered === 'boolean' ? [] : ['clustered']), ...missing];
  throw checks.error(`client is a RedisConnection that lacks ${lacks.join(', ')}. See connectionContract.`);
}

/** node-redis puts its prefix before the keys of its own commands only, so two halves of an app would use different keys. */
function refuseKeyPrefix(client: object): void {
  const { _keyPrefix: keyPrefix } = client as { _keyPrefix?: unknown };
  if (keyPrefix === undefined || keyPrefix === '') return;
  throw checks.error(
    `client has keyPrefix ${shown(keyPrefix)}. Remove keyPrefix and set \`prefix\` of ScriptRegistryModule instead.`,
  );
}
