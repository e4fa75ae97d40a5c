import { openMemory } from './compare-lua';
import { realServer } from './real-server';

const server = realServer();

it.each([
  // _G
  'return _G.foo',
  'if _G.foo then return 1 end return 2',
  'return _G[1]',
  'return _G[true]',
  'return {pcall(function() return _G.foo end)}',
  "return tostring(rawget(_G, 'foo'))",
  'return type(getmetatable(_G))',
  'return type(getmetatable(_G).__index)',
  'return getmetatable(_G).__index(_G, "x")',
  'getmetatable(_G).__index = nil',
  'setmetatable(_G, {})',
  '_G.foo = 1',
  "rawset(_G, 'foo', 1)",
  'return {_G._G == _G, type(_G.KEYS), type(_G.redis)}',
  'return foo',
  'foo = 1',
  // xpcall
  "return {xpcall(function() error('a') end, function() error('b') end)}",
  'return {xpcall(error, error)}',
  "return {xpcall(function() error('a') end, 5)}",
  'return {xpcall(function() return 1, 2 end, error)}',
  "return {xpcall(function() error('a') end, function(e) return e, 'more' end)}",
  'return {xpcall(function() error({1}) end, function(e) return e[1] end)}',
  'xpcall()',
  'xpcall(print)',
  'pcall()',
  // arg
  'local function f(...) return arg.n end return f(1, nil, 3)',
  'local function f(...) return {arg[1], arg[2], #arg} end return f(1, 2)',
  'local function f(...) local a = ... return tostring(arg) end return f(1, 2)',
  'local function f(...) local function g(...) return arg[1] end return g(7) end return f(1)',
  'local function f(a, ...) return {a, arg[1]} end return f(1, 2)',
  'local function f(arg, ...) return arg end return f(1, 2)',
  'local function f(a) return arg end return f(1)',
  'return arg',
  'local function f(...) arg = 5 return arg end return f(1)',
  'local f = function(...) for i, v in ipairs(arg) do if i == 2 then return v end end end return f(1, 2)',
  'local function f(...) return unpack(arg) end return {f(1, 2)}',
  // libraries
  "local t = {} for w in string.gfind('a b', '%a') do t[#t + 1] = w end return t",
  'return {bit.tohex(1, 0), bit.tohex(255), bit.tohex(255, 2), bit.tohex(255, -2), bit.tohex(-1, 20), bit.tohex(-1, -20)}',
  "return {string.format('%#o', 8), string.format('%#o', 0), string.format('%#x', 255), string.format('%#x', 0), string.format('%#5o|', 8), string.format('%-#6o|', 8)}",
  'return {tostring(1^(0/0)), tostring((-1)^(1/0)), tostring((-1)^(-1/0)), tostring(math.pow(1, 0/0)), tostring(1^(1/0)), tostring(2^(1/0))}',
  "return {tostring(tonumber('ffffffffffffffffff', 16)), tostring(tonumber('-ffffffffffffffffff', 16)), tostring(tonumber('zzzzzzzzzzzzzzzz', 36)), tostring(tonumber('-1', 16)), tostring(tonumber('-ff', 16))}",
  'return {type(tostring(setmetatable({}, {__tostring = function() return 5 end}))), type(tostring(setmetatable({}, {__tostring = function() return {} end}))), type(tostring(setmetatable({}, {__tostring = function() end})))}',
  "return {type(getmetatable('')), type(getmetatable('').__index), getmetatable('').__index == string}",
  "getmetatable('').__index = nil",
  'return type(getmetatable(1))',
  "redis.log(99, 'x')",
  "redis.log(-1, 'x')",
  "redis.log('x', 'x')",
  'redis.log(1)',
  "redis.log(redis.LOG_DEBUG, 'x')",
  'redis.set_repl(99)',
  'redis.set_repl()',
  'redis.set_repl(redis.REPL_ALL)',
  'redis.set_repl(1, 2)',
  "redis.set_repl('x')",
])('replies to %j as a Redis server does', async (source) => {
  const command = ['EVAL', source, '0'];
  expect(openMemory().run(command)).toBe((await server.raw.send([command]))[0]);
});

it.each([
  [
    ['XADD', 's', '5-5', 'f', 'v'],
    ['XGROUP', 'CREATE', 's', 'g', '0'],
    ['XGROUP', 'SETID', 's', 'g', '-'],
    ['XGROUP', 'SETID', 's', 'g', '+'],
    ['XINFO', 'GROUPS', 's'],
    ['XGROUP', 'CREATE', 's', 'h', '+'],
    ['XGROUP', 'CREATE', 's', 'i', '-'],
    ['XGROUP', 'SETID', 's', 'g', 'x'],
  ],
  [
    ['XADD', 's', '5-5', 'f', 'v'],
    ['XSETID', 's', '1-1'],
    ['XSETID', 's', 'x'],
    ['XSETID', 's', '9-9', 'ENTRIESADDED', '-1'],
    ['XSETID', 's', '9-9', 'ENTRIESADDED', '0', 'MAXDELETEDID', '0-0'],
    ['XSETID', 's', '9-9', 'ENTRIESADDED', '5', 'MAXDELETEDID', '10-0'],
    ['XSETID', 's', '9-9', 'ENTRIESADDED', '5'],
    ['XSETID', 's', '-'],
    ['XSETID', 's', '+'],
    ['XSETID', 'none', '1-1'],
    ['XSETID', 's', '9-9', 'ENTRIESADDED', 'x', 'MAXDELETEDID', '1-1'],
    ['XSETID', 's', '9-9', 'ENTRIESADDED', '5', 'MAXDELETEDID', 'x'],
  ],
  [
    ['SET', 'n', '1'],
    ['INCRBYFLOAT', 'n', '+inf'],
    ['INCRBYFLOAT', 'n', 'inf'],
    ['INCRBYFLOAT', 'n', '-inf'],
    ['INCRBYFLOAT', 'n', 'nan'],
    ['HINCRBYFLOAT', 'h', 'f', '+inf'],
    ['HINCRBYFLOAT', 'h', 'f', 'inf'],
    ['HINCRBYFLOAT', 'h', 'f', 'nan'],
  ],
  [
    ['WAIT', '0', '-1'],
    ['WAIT', '1', 'x'],
    ['WAIT', 'x', '1'],
  ],
])('replies to commands at their edges as a Redis server does: %j', async (...commands) => {
  const memory = openMemory();
  const expected = await server.raw.send([['FLUSHALL'], ['HELLO', '2'], ...commands]);
  expect(commands.map((words) => [words, memory.run(words)])).toEqual(
    commands.map((words, index) => [words, expected[index + 2]]),
  );
});
