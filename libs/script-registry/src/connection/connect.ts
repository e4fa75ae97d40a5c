import { Checks, shown } from '../../../internal/src';
import { connectIoredis, isIoredis } from './ioredis-connection';
import { type NodeRedisCluster, NodeRedisClusterConnection } from './node-redis-cluster';
import type { NodeRedisClient } from './node-redis-node';
import { type NodeRedisSentinel, NodeRedisSentinelConnection, NodeRedisStandalone } from './node-redis-standalone';
import type { RedisConnection } from './port';

/**
 * A client of ioredis, iovalkey or node-redis, or an adapter for another client. The type accepts any object with `sendCommand` and
 * `connect`, because each package and version has its own types, and an app does not install all packages. `connectClient` checks the
 * object at boot.
 */
export type AnyClient = { readonly sendCommand: unknown; connect(): Promise<unknown> } | RedisConnection;

const EXPECTED =
  'a Redis or a Cluster of ioredis or iovalkey, the result of createClient, createCluster or createSentinel of redis (node-redis), or a ' +
  'RedisConnection';
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
 * Returns a RedisConnection for a client. If `client` is an adapter that the app created, returns it as it is. Recognises a client by its
 * methods, not by its class, because the client may come from another copy of the package.
 *
 * @throws InvalidOptionError if `client` is anything else, or has an option that does not work with scripts, such as `keyPrefix`
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

/** @throws InvalidOptionError if `client` has the method `sendRouted` of a RedisConnection, but lacks other members */
function isConnection(client: unknown): client is RedisConnection {
  const found = (client ?? {}) as Record<string, unknown>;
  if (typeof found.sendRouted !== 'function') return false;
  const missing = METHODS.filter((name) => typeof found[name] !== 'function');
  if (missing.length === 0 && typeof found.clustered === 'boolean') return true;
  const lacks = [...(typeof found.clustered === 'boolean' ? [] : ['clustered']), ...missing];
  throw checks.error(
    `client is a RedisConnection, but has no ${lacks.join(', ')}. Implement the whole interface, and test it with connectionContract of luanest/testing/servers.`,
  );
}

/**
 * Throws if a client of node-redis has a `keyPrefix`. node-redis adds the prefix to the keys of its own commands, but not to the keys of
 * scripts. So commands and scripts of an app would use different keys.
 */
function refuseKeyPrefix(client: object): void {
  const { _keyPrefix: keyPrefix } = client as { _keyPrefix?: unknown };
  if (keyPrefix === undefined || keyPrefix === '') return;
  throw checks.error(
    `client has keyPrefix ${shown(keyPrefix)}, which luanest does not support. Remove keyPrefix from the client, and set \`prefix\` of ` +
      'ScriptRegistryModule instead.',
  );
}
