import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5';
import { Cluster as ValkeyCluster, Redis as Valkey } from 'iovalkey';
import * as nodeRedis from 'redis';
import * as nodeRedis5 from 'redis5';
import { type ConnectionAdapter, connectionContract, type RedisServer, startRedis } from 'luanest/testing/servers';
import { type AnyClient, connectClient } from '../src/connection/connect';
import { keyEventsOf } from '../src/connection/key-events';
import { ChannelListeners } from '../src/channel-listeners';
import type { RedisNode } from '../src/connection/port';
import { eventually } from '../../../test/support/wait';
import { LONG } from '../../../test/support/size';
import { turn } from './client-support';

type Ended = AnyClient & { disconnect?: () => void; destroy?: () => void };

const quickly = (retries: number): number => Math.min(20 * 2 ** retries, 500);

function underTest(client: unknown, end: () => void): ReturnType<ConnectionAdapter['standalone']> {
  (client as { on(event: string, listener: () => void): void }).on('error', () => undefined);
  return { connection: connectClient(client as Ended), end };
}

function ofIoredis(RedisClass: typeof Redis, ClusterClass: typeof Cluster): ConnectionAdapter {
  return {
    standalone({ host, port }, { database, ...user } = {}) {
      const client = new RedisClass({ host, port, ...user, db: database, retryStrategy: quickly, lazyConnect: true });
      return underTest(client, () => client.disconnect());
    },
    cluster(nodes) {
      const client = new ClusterClass([...nodes], { slotsRefreshTimeout: 5_000, lazyConnect: true });
      return underTest(client, () => client.disconnect());
    },
  };
}

function ofNodeRedis({ createClient, createCluster }: typeof nodeRedis): ConnectionAdapter {
  return {
    standalone({ host, port }, settings) {
      const client = createClient({ socket: { host, port, reconnectStrategy: quickly }, ...settings });
      return underTest(client, () => client.destroy());
    },
    cluster(nodes) {
      const client = createCluster({
        rootNodes: nodes.map(({ host, port }) => ({ socket: { host, port } })),
        defaults: { socket: { reconnectStrategy: quickly } },
      });
      return underTest(client, () => client.destroy());
    },
  };
}

/** `npm test` runs the newest clients. `npm run test:faults` and `npm run test:servers` with another client run all of them. */
const ALL = LONG || process.env.LUANEST_TEST_CLIENT !== undefined;
const NEWEST = ['ioredis 6', 'node-redis 6'];

const adapters: [name: string, adapter: ConnectionAdapter][] = [
  ['ioredis 6', ofIoredis(Redis, Cluster)],
  ['ioredis 5', ofIoredis(Redis5 as unknown as typeof Redis, Cluster5 as unknown as typeof Cluster)],
  ['iovalkey', ofIoredis(Valkey as unknown as typeof Redis, ValkeyCluster as unknown as typeof Cluster)],
  ['node-redis 6', ofNodeRedis(nodeRedis)],
  ['node-redis 5', ofNodeRedis(nodeRedis5 as unknown as typeof nodeRedis)],
];

describe.each(adapters.filter(([name]) => ALL || NEWEST.includes(name)))('a connection of %s', (_, adapter) => {
  it.each(connectionContract)('$name', ({ run }) => run(adapter));

  it('has events of keys in its database next to messages of sharded channels, also after the last of a kind has ended', async () => {
    const server = await startRedis({ args: ['--notify-keyspace-events', 'Kt'] });
    const { connection, end } = adapter.standalone(server, { database: 3 });
    const stop = connection.listen(() => undefined);
    const listeners = new ChannelListeners(connection);
    const seen: string[] = [];
    const listen = (channel: string): Promise<() => void> =>
      listeners.listen(0, channel, (text = 'missed') => void seen.push(`${channel} ${text}`));
    await eventually(() => expect(connection.nodeFor(0)?.ready).toBe(true));
    const run = (name: string, ...args: string[]) => (connection.nodeFor(0) as RedisNode).send(name, args);
    const texts = async (...args: string[]) => String(await run('PUBSUB', ...args));
    const key = keyEventsOf('a: {k}');
    const stopFirst = await listen('one');
    const stopKey = await listen(key);
    await run('XADD', 'a: {k}', '*', 'f', 'v');
    await run('SPUBLISH', 'one', 'text');
    await eventually(() => expect([...seen].sort()).toEqual([`${key} xadd`, 'one text'].sort()));
    // The last sharded channel stays until there is another one.
    stopFirst();
    expect(await texts('SHARDCHANNELS')).toBe('one');
    await run('XADD', 'a: {k}', '*', 'f', 'v');
    await run('SPUBLISH', 'one', 'ignored');
    await eventually(() => expect(seen).toHaveLength(3));
    (await listen('two'))();
    await eventually(async () => expect(await texts('SHARDCHANNELS')).toBe('two'));
    stopKey();
    await listen('three');
    await run('SPUBLISH', 'three', 'text');
    await eventually(() => expect(seen[3]).toBe('three text'));
    const stopAgain = await listen(key);
    (await listen(keyEventsOf('other')))();
    await eventually(async () => expect(await texts('CHANNELS')).toBe('__keyspace@3__:a: {k}'));
    await run('XADD', 'a: {k}', '*', 'f', 'v');
    await eventually(() => expect(seen[4]).toBe(`${key} xadd`));
    stopAgain();
    expect(seen).toHaveLength(5);
    listeners.close();
    stop();
    connection.close();
    await end();
    await server.stop();
  });
});

describe.each([
  ['node-redis 6', nodeRedis],
  ['node-redis 5', nodeRedis5 as unknown as typeof nodeRedis],
])('a client of %s', (_, { createClient, createClientPool }) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  it('keeps the database that it has selected, on the dedicated connection, too', async () => {
    const client = createClient({ url: server.url });
    client.on('error', () => undefined);
    await client.connect();
    const connection = connectClient(client);
    await client.select(3);
    await client.set('k', 'in 3');
    const own = await connection.dedicated(connection.nodeFor(0) as RedisNode);
    expect(String((await own.sendAll([['GET', ['k']]]))[0])).toBe('in 3');
    connection.close();
    client.destroy();
  });

  it('is not connected again after the app has closed it', async () => {
    const client = createClient({ url: server.url });
    client.on('error', () => undefined);
    await client.connect();
    const connection = connectClient(client);
    connection.listen(() => undefined);
    client.destroy();
    connection.refresh();
    await turn();
    expect(client.isOpen).toBe(false);
    connection.close();
  });

  it('is refused if it is a pool, or is of the interface of version 3', () => {
    expect(() => connectClient(createClientPool({ url: server.url }) as never)).toThrow('client is');
    expect(() => connectClient(createClient({ url: server.url }).legacy() as never)).toThrow('client is');
  });
});
