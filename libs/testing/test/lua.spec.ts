import { LONG } from '../../../test/support/size';
import { compareLua, openMemory } from './compare-lua';
import { realServer } from './real-server';

const PROGRAMS = LONG ? 100_000 : 1_000;

const server = realServer();

it(`runs ${PROGRAMS} random Lua programs as a Redis server does`, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const differences = await compareLua(server.raw, PROGRAMS, seed);
  expect({ seed, differences: differences.slice(0, 3) }).toEqual({ seed, differences: [] });
}, 600_000);

// Found by long runs.
it.each(['123456789012345', '-123456789012345', '2^31', '-2^31 - 0.5', '300.7', '-1', '0/0', '1/0'])(
  'formats the character %s as a Redis server does',
  async (number) => {
    const command = ['EVAL', `return 'a' .. string.format('%c', ${number}) .. 'b'`, '0'];
    expect(openMemory().run(command)).toBe((await server.raw.send([command]))[0]);
  },
);
