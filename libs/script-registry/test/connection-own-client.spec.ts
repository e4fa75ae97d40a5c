import { Logger } from '@nestjs/common';
import { Cluster, Redis } from 'ioredis';
import { disconnect } from '../src/connection/disconnect';
import { clientFrom, clientServiceTokens, type ClientService } from '../src/connection/nestjs-redis';
import { ownClient, type OwnClient } from '../src/connection/own-client';
import { FakeClient, turn } from './client-support';

/** A client of ioredis, which is installed here. */
interface Made {
  readonly client: Redis | Cluster;
  readonly end: () => Promise<void>;
}

function made(options: Parameters<typeof ownClient>[1]): Made {
  const own = ownClient('main', options);
  if (own === undefined) throw new Error('No client was made.');
  return own as OwnClient & Made;
}

/** Sets what ioredis sets. */
function setStatus(client: Redis | Cluster, status: string): void {
  (client as { status: string }).status = status;
}

describe('the client that the options describe', () => {
  afterEach(() => jest.restoreAllMocks());

  it('is missing without a server', () => {
    expect(ownClient('main', {})).toBeUndefined();
  });

  it.each([
    ['url', { url: 'redis://h:7000/3' }, { host: 'h', port: 7000, db: 3 }],
    ['connection', { connection: { host: 'h', port: 7001 } }, { host: 'h', port: 7001 }],
    ['an empty connection', { connection: {} }, { host: 'localhost', port: 6379 }],
  ])('is that of one server, and lazy: %s', (_, options, expected) => {
    const { client } = made(options);
    expect(client).toBeInstanceOf(Redis);
    expect(client.options).toMatchObject({ ...expected, lazyConnect: true });
    expect(client.status).toBe('wait');
    client.disconnect();
  });

  it('is that of a Cluster with `nodes`, and lazy', () => {
    const { client } = made({ connection: { nodes: [{ host: 'h', port: 1 }], scaleReads: 'slave' } });
    expect(client).toBeInstanceOf(Cluster);
    expect(client.options).toMatchObject({ scaleReads: 'slave', lazyConnect: true });
    expect([client.status, (client as unknown as { startupNodes: unknown }).startupNodes]).toEqual([
      'wait',
      [{ host: 'h', port: 1 }],
    ]);
    client.disconnect();
  });

  it.each([
    ['url', { url: 'redis://h:7000' }],
    ['connection', { connection: { host: 'h' } }],
  ])('tries to reconnect after at most 0.6 s, however long an outage is: %s', (_, options) => {
    const { client } = made(options);
    const { retryStrategy } = (client as Redis).options;
    const pauses = Array.from({ length: 200 }, (_, i) => Number(retryStrategy?.(i + 1)));
    expect(Math.max(...pauses)).toBeLessThan(600);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(50);
    client.disconnect();
  });

  it('keeps the retry strategy of the options', () => {
    const retryStrategy = (): null => null;
    const { client } = made({ connection: { host: 'h', retryStrategy } });
    expect((client as Redis).options.retryStrategy).toBe(retryStrategy);
    client.disconnect();
  });

  it('logs the first error of an outage, and its end', () => {
    const lines: string[] = [];
    for (const level of ['warn', 'log'] as const) {
      jest.spyOn(Logger.prototype, level).mockImplementation(function (this: unknown, ...[line]: unknown[]) {
        lines.push(`${level} ${(this as { context: string }).context}: ${String(line)}`);
      });
    }
    const { client } = made({ url: 'redis://h:1' });
    client.emit('ready');
    for (let outage = 0; outage < 2; outage++) {
      client.emit('error', new Error('refused'));
      client.emit('error', new Error('refused again'));
      client.emit('ready');
      client.emit('ready');
    }
    const outage = [
      'warn ScriptRegistry main: The connection to Redis was lost: refused. The client connects again by itself, unless its retry strategy gives up. Until it is connected, calls fail at their deadlines.',
      'log ScriptRegistry main: The client is connected to Redis again.',
    ];
    expect(lines).toEqual([...outage, ...outage]);
    client.disconnect();
  });

  it('sends QUIT and disconnects when it ends, and waits no longer than a second', async () => {
    const calls: string[] = [];
    const replies = [Promise.resolve('OK'), Promise.reject(new Error('closed')), new Promise(() => undefined)];
    for (const reply of replies) {
      const { client, end } = made({ url: 'redis://h:1' });
      setStatus(client, 'ready');
      jest.spyOn(client, 'quit').mockImplementation(() => (calls.push('quit'), reply as Promise<'OK'>));
      jest.spyOn(client, 'disconnect').mockImplementation(() => void calls.push('disconnect'));
      await end();
    }
    expect(calls).toEqual(Array(3).fill(['quit', 'disconnect']).flat());
  });

  it('leaves no timer of its end', async () => {
    const cleared = jest.spyOn(globalThis, 'clearTimeout');
    const set = jest.spyOn(globalThis, 'setTimeout');
    const { client, end } = made({ url: 'redis://h:1' });
    setStatus(client, 'ready');
    jest.spyOn(client, 'quit').mockResolvedValue('OK');
    jest.spyOn(client, 'disconnect').mockImplementation(() => undefined);
    await end();
    const timer = set.mock.results[set.mock.calls.findIndex(([, ms]) => ms === 1_000)]?.value as unknown;
    expect(timer).toBeDefined();
    expect(cleared.mock.calls.map(([one]) => one as unknown)).toContain(timer);
  });

  it('only disconnects if it is not ready', async () => {
    const { client, end } = made({ url: 'redis://h:1' });
    const quit = jest.spyOn(client, 'quit');
    await end();
    expect([quit.mock.calls.length, client.status]).toEqual([0, 'end']);
  });
});

describe('a client that is disconnected', () => {
  it.each([
    ['forgets a socket that has closed', { destroyed: true }, undefined],
    ['keeps a socket that is open', { destroyed: false }, { destroyed: false }],
    ['may have no socket', undefined, undefined],
  ])('%s', (_, stream, kept) => {
    const client = Object.assign(new FakeClient(), { connector: { stream } });
    disconnect(client.redis);
    expect([client.calls, client.connector.stream]).toEqual([['disconnect'], kept]);
  });

  it('may have no connector', () => {
    const client = new FakeClient();
    disconnect(client.redis);
    expect(client.calls).toEqual(['disconnect']);
  });

  it('of a Cluster forgets the closed sockets of all nodes', async () => {
    const cluster = new Cluster([{ host: 'h', port: 1 }], { lazyConnect: true });
    const nodes = [true, false].map((destroyed) => ({ connector: { stream: { destroyed } } }));
    jest.spyOn(cluster, 'nodes').mockReturnValue(nodes as never);
    disconnect(cluster);
    await turn();
    expect(nodes.map(({ connector }) => connector.stream)).toEqual([undefined, { destroyed: false }]);
    jest.restoreAllMocks();
  });
});

describe('the client of @liaoliaots/nestjs-redis', () => {
  const redis = new Redis({ lazyConnect: true });
  const cluster = new Redis({ lazyConnect: true });
  const service: ClientService<Redis> = { getOrNil: () => redis };
  const clusters = { getOrNil: () => cluster } as never;

  it('is the default client of the only module', () => {
    expect(clientFrom(service, undefined)).toBe(redis);
    expect(clientFrom(undefined, clusters)).toBe(cluster);
  });

  it.each([
    [
      'both modules are imported',
      service,
      clusters,
      /^ScriptRegistryModule: RedisModule and ClusterModule of @liaoliaots\/nestjs-redis are both imported, so .* /,
    ],
    [
      'no module is imported',
      undefined,
      undefined,
      /^ScriptRegistryModule: url, connection and client are undefined\. Set one of them, /,
    ],
    [
      'there is no default client',
      { getOrNil: () => null },
      undefined,
      /^ScriptRegistryModule: RedisModule of @liaoliaots\/nestjs-redis has no default client\. /,
    ],
  ])('is refused if %s', (_, ofRedis, ofCluster, message) => {
    expect(() => clientFrom(ofRedis, ofCluster)).toThrow(message);
  });

  it('is found by the classes of the services', () => {
    expect(clientServiceTokens().map((token) => (token as { name: string }).name)).toEqual([
      'RedisService',
      'ClusterService',
    ]);
  });
});
