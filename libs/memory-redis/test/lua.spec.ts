import { LONG } from '../../../test/support/size';
import { compareLua, openMemory } from './compare-lua';
import { realServer } from './real-server';

const PROGRAMS = LONG ? 100_000 : 300;

const server = realServer();

it(`runs ${PROGRAMS} random Lua programs as a Redis server does`, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const differences = await compareLua(server.raw, PROGRAMS, seed);
  expect({ seed, differences: differences.slice(0, 3) }).toEqual({ seed, differences: [] });
}, 1_800_000);

// Found by long runs.
it.each([
  ...['123456789012345', '-123456789012345', '2^31', '-2^31 - 0.5', '300.7', '-1', '0/0', '1/0'].map(
    (number) => `return 'a' .. string.format('%c', ${number}) .. 'b'`,
  ),
  "return ('a'):rep\n(3)",
  "return ('a'):\nrep(3)",
  "return ('a')\n:rep(3)",
  'return tostring\n(3)',
  "return ('a'):rep\n{}",
  "return ('a'):\nnothing(3)",
  'local a\nlocal b = (a)\n:\nb(3)',
  'local a = {b = 1} return a:b\n""',
  // Long texts are handled in pieces.
  ...['t:upper()', 't:lower()', 't:reverse()', 'cjson.encode(t)', "('%q'):format(t)"].map(
    (call) => `local t = ('aB/"\\n\\r\\1'):rep(200000) return redis.sha1hex(${call})`,
  ),
  // Constants in parentheses, and those that decide nothing, are keys with a name.
  ...[
    '2^53 and t.a',
    '-(-1) and t.a',
    '1 / 0 and t.a',
    '0 / 0 and t.a',
    '5 % 0 and t.a',
    "#'x' and t.a",
    "'1' + 1 and t.a",
  ].map((value) => `local t = {} return (${value}) * 10`),
  // NaN is neither less nor more than a number.
  ...['min(1, 0/0)', 'min(0/0, 1)', 'max(1, 0/0)', 'max(0/0, 1)', 'max(5, 0/0, 6)', 'min(0, -0)', 'max(-0, 0)'].map(
    (call) => `local value = math.${call} return value == value and tostring(1 / value)`,
  ),
  ...["('10')", "(nil or '10')", "true and '10'", "(not nil) and '10'", "not 'x' or '10'", "(('10'))"].map(
    (key) => `local t = {} return t[${key}] * 10`,
  ),
])('replies to %j as a Redis server does', async (source) => {
  const command = ['EVAL', source, '0'];
  expect(openMemory().run(command)).toBe((await server.raw.send([command]))[0]);
});

// A server may have enough memory for it. The long comparison leaves out replies with this error.
it.each(["('x'):rep(2^29)", "('x'):rep(2^28):rep(2^3)", 't .. t', 'table.concat({t, t})'])(
  'has not enough memory for the text %s',
  (text) => {
    const source = `local t = ('x'):rep(2^28) return #(${text})`;
    expect(openMemory().run(['EVAL', source, '0'])).toMatch(/^-ERR not enough memory/);
  },
);
