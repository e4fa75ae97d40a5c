import { Logger } from '@nestjs/common';
import { type RedisServer, startRedis } from 'luanest/testing/servers';
import { eventually } from '../../../test/support/wait';
import { connectClient } from '../src/connection/connect';
import * as installed from '../src/connection/installed-clients';
import { ownClient } from '../src/connection/own-client';

jest.mock('../src/connection/installed-clients', () => {
  const actual = jest.requireActual<typeof installed>('../src/connection/installed-clients');
  return {
    ...actual,
    ioredisIfInstalled: () => undefined,
    nodeRedisIfInstalled: jest.fn(() => actual.nodeRedisIfInstalled()),
  };
});

/** Settings of a client of node-redis. */
interface NodeRedisSettings {
  readonly options: { readonly socket: { readonly reconnectStrategy: (retries: number) => number } };
}

describe('the client that the options describe, in an app without ioredis', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => server.stop());

  it('is of node-redis, connects when it is used, logs an outage, and ends', async () => {
    const lines: unknown[] = [];
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((line) => void lines.push(line));
    jest.spyOn(Logger.prototype, 'log').mockImplementation((line) => void lines.push(line));
    const own = ownClient('main', { url: server.url });
    if (!own) throw new Error('No client was made.');
    const client = own.client as unknown as { readonly isOpen: boolean };
    expect(client.isOpen).toBe(false);
    const { reconnectStrategy } = (own.client as unknown as NodeRedisSettings).options.socket;
    expect(Math.max(...Array.from({ length: 200 }, (_, retries) => reconnectStrategy(retries)))).toBeLessThan(600);
    const connection = connectClient(own.client);
    connection.listen(() => undefined);
    await eventually(() => expect(connection.nodes()[0]?.ready).toBe(true));
    await server.kill();
    await eventually(() => expect(lines).toEqual([expect.stringContaining('The connection to Redis was lost: ')]));
    await server.restart();
    await eventually(() => expect(lines).toEqual([expect.any(String), 'The client is connected to Redis again.']));
    connection.close();
    await own.end();
    expect(client.isOpen).toBe(false);
    await own.end();
  });

  it('is refused with the remedy if the options are those of ioredis, or if there is no client at all', () => {
    const connection = { host: '127.0.0.1' };
    expect(() => ownClient('main', { connection })).toThrow(
      'ScriptRegistryModule: The option connection needs ioredis, which is not installed. Make a client of redis yourself and set ' +
        '`client`, or install ioredis.',
    );
    jest.mocked(installed.nodeRedisIfInstalled).mockReturnValue(undefined);
    expect(() => ownClient('main', { connection })).toThrow('which is not installed. Install ioredis.');
    expect(() => ownClient('main', { url: server.url })).toThrow(
      'No client library for Redis is installed. Install ioredis or redis.',
    );
  });
});
