import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { LONG } from '../../../test/support/size';
import { compareLua } from './compare-lua';
import { RawRedis } from './raw-redis';

const PROGRAMS = LONG ? 100_000 : 1_000;

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

it(`runs ${PROGRAMS} random Lua programs as a Redis server does`, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const differences = await compareLua(real, PROGRAMS, seed);
  expect({ seed, differences: differences.slice(0, 3) }).toEqual({ seed, differences: [] });
}, 600_000);
