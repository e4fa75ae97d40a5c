import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { LONG } from '../../../test/support/size';
import { compareServers } from './compare-servers';
import { RawRedis } from './raw-redis';

const COMMANDS = LONG ? 1_000_000 : 20_000;

let server: RedisServer;
let real: RawRedis;

beforeAll(async () => {
  server = await startRedis();
  real = await RawRedis.connect(server.port);
});

afterAll(async () => {
  real.close();
  await server.stop();
});

it(`replies to ${COMMANDS} random commands as a Redis server does`, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const { count, differences } = await compareServers(real, COMMANDS, seed);
  expect({ seed, differences: differences.slice(0, 5) }).toEqual({ seed, differences: [] });
  expect(count).toBeGreaterThanOrEqual(COMMANDS);
}, 600_000);
