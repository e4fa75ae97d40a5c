import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { RawRedis } from './raw-redis';

/** Starts a Redis server for the tests of a file. @returns its connection, once the tests run */
export function realServer(): { readonly raw: RawRedis } {
  let server: RedisServer;
  let raw: RawRedis;
  beforeAll(async () => {
    server = await startRedis();
    raw = await RawRedis.connect(server.port);
  });
  afterAll(async () => {
    raw.close();
    await server.stop();
  });
  return {
    get raw() {
      return raw;
    },
  };
}
