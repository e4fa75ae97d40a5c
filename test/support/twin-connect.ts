// Runs the suites on another client: with LUANEST_TEST_CLIENT=redis, redis5, ioredis5 or iovalkey, each client of ioredis 6 that a suite
// gives to a ScriptRegistry is replaced by one of that package to the same server. jest.config.js lets this file replace
// connection/connect.
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import type { AnyClient } from '../../libs/script-registry/src/connection/connect';
import type { RedisConnection } from '../../libs/script-registry/src/connection/port';

// With its ending, so that this is the file itself.
const actual =
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- see above
  require('../../libs/script-registry/src/connection/connect.ts') as typeof import('../../libs/script-registry/src/connection/connect');
const { isIoredis } =
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- not an import, which would come before `actual`
  require('../../libs/script-registry/src/connection/ioredis-connection') as typeof import('../../libs/script-registry/src/connection/ioredis-connection');

/** A client that this file has made. */
interface Twin {
  destroy(): void;
  on(event: string, listener: () => void): unknown;
}

interface NodeRedis {
  readonly createClient: (options: object) => Twin;
  readonly createCluster: (options: object) => Twin;
}

const reconnectStrategy = (retries: number): number => Math.min(20 * 2 ** retries, 500);

function commonOptions({ username, password, db, protocol }: RedisOptions): object {
  return { username: username ?? undefined, password: password ?? undefined, database: db ?? 0, RESP: protocol ?? 3 };
}

const name = process.env.LUANEST_TEST_CLIENT ?? 'redis';

function twinOf(client: Redis | Cluster): Twin | undefined {
  const { sentinels, Connector } = client.options as RedisOptions & { Connector?: unknown };
  // Not of Sentinel, whose options differ, nor of a server in memory, which has no port.
  if (sentinels || Connector) return undefined;
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- the variable decides which one
  const found = require(name) as NodeRedis & typeof import('ioredis');
  return name.startsWith('redis') ? nodeRedisTwin(found, client) : ioredisTwin(found, client);
}

function ioredisTwin({ Cluster, Redis }: typeof import('ioredis'), client: Redis | Cluster): Twin {
  const twin = isCluster(client)
    ? new Cluster(startupNodes(client), {
        ...client.options,
        redisOptions: { ...client.options.redisOptions },
        lazyConnect: true,
      })
    : new Redis({ ...client.options, lazyConnect: true });
  return Object.assign(twin, { destroy: () => twin.disconnect() });
}

function nodeRedisTwin({ createClient, createCluster }: NodeRedis, client: Redis | Cluster): Twin {
  if (isCluster(client)) {
    const { redisOptions = {}, natMap } = client.options;
    return createCluster({
      rootNodes: startupNodes(client).map((address) => ({ socket: address })),
      defaults: { ...commonOptions(redisOptions), socket: { reconnectStrategy } },
      useReplicas: true,
      nodeAddressMap: natMap,
    });
  }
  const { host, port, path, tls } = client.options;
  const socket = path ? { path } : { host, port, ...(tls && { ...tls, tls: true }) };
  return createClient({ ...commonOptions(client.options), socket: { ...socket, reconnectStrategy } });
}

function isCluster(client: Redis | Cluster): client is Cluster {
  return client.isCluster;
}

function startupNodes(cluster: Cluster): { host: string; port: number }[] {
  return (cluster as unknown as { startupNodes: unknown[] }).startupNodes.map((node) => {
    if (typeof node === 'string') return { host: new URL(node).hostname, port: Number(new URL(node).port) };
    const { host = '127.0.0.1', port } =
      typeof node === 'number' ? { port: node } : (node as { host?: string; port: number });
    return { host, port: Number(port) };
  });
}

export function connectClient(client: Parameters<typeof actual.connectClient>[0]): RedisConnection {
  const checked = actual.connectClient(client);
  const twin = isIoredis(client) ? twinOf(client) : undefined;
  if (!twin) return checked;
  checked.close();
  twin.on('error', () => undefined);
  const connection = actual.connectClient(twin as unknown as AnyClient);
  const destroy = (): void => {
    try {
      twin.destroy();
    } catch {
      // It is closed.
    }
  };
  // Suites end only the client that they know. Its end comes a moment after the call, in which the other client would still send.
  (client as Redis).once('end', destroy);
  const known = client as Redis;
  const disconnect = known.disconnect.bind(known);
  known.disconnect = (reconnect) => {
    if (!reconnect) destroy();
    disconnect(reconnect);
  };
  const close = connection.close.bind(connection);
  connection.close = () => {
    (client as Redis).off('end', destroy);
    close();
    destroy();
  };
  return connection;
}
