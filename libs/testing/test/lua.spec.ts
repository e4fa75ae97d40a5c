import { LONG } from '../../../test/support/size';
import { compareLua } from './compare-lua';
import { realServer } from './real-server';

const PROGRAMS = LONG ? 100_000 : 1_000;

const server = realServer();

it(`runs ${PROGRAMS} random Lua programs as a Redis server does`, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const differences = await compareLua(server.raw, PROGRAMS, seed);
  expect({ seed, differences: differences.slice(0, 3) }).toEqual({ seed, differences: [] });
}, 600_000);
