import { LONG } from '../../../test/support/size';
import { compareServers } from './compare-servers';
import { realServer } from './real-server';

const COMMANDS = LONG ? 1_000_000 : 20_000;

const server = realServer();

it(`replies to ${COMMANDS} random commands as a Redis server does`, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const { count, differences } = await compareServers(server.raw, COMMANDS, seed);
  expect({ seed, differences: differences.slice(0, 5) }).toEqual({ seed, differences: [] });
  expect(count).toBeGreaterThanOrEqual(COMMANDS);
}, 600_000);
