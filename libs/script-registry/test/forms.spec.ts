import type { Redis } from 'ioredis';
import { defineScript, list, str, type ScriptRegistry } from 'luanest/script-registry';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { groupForm, loneForm } from '../src/pipe/forms';
import type { GroupOptions } from '../src/script-definition';
import { openRegistry, standaloneClient } from './support';

let scripts = 0;
const define = (source: string, group?: GroupOptions | false) =>
  defineScript({
    name: `test.form-${++scripts}`,
    keys: ['one', 'more[]'],
    args: { what: str, rest: list(str) },
    ...{ source, group: group },
    reply: (raw: unknown) => raw,
  });

describe('the text of a script', () => {
  it('of a lone call is the source as it is written', () => {
    const source = '-- a comment\nreturn { KEYS[1] } -- the end';
    expect(loneForm(define(source)).body).toBe(`#!lua\n${source}`);
    const flags = ['no-writes', 'allow-stale'] as const;
    const flagged = defineScript({ name: 'test.flags', keys: ['k'], args: {}, source, flags, reply: (raw) => raw });
    expect(loneForm(flagged).body).toBe(`#!lua flags=no-writes,allow-stale\n${source}`);
    expect(groupForm(flagged)?.body).toMatch(/^#!lua flags=no-writes,allow-stale\n/);
  });

  it('of a group has each line of the source where it is', () => {
    const lines = ['local a = 1', '-- @call', 'local b = a', 'return b -- the end'];
    for (const source of [lines.join('\n'), lines.slice(2).join('\n')]) {
      const [, ...body] = (groupForm(define(source))?.body ?? '').split('\n');
      for (const [i, line] of source.split('\n').entries()) if (!line.startsWith('--')) expect(body[i]).toContain(line);
    }
  });

  it.each([
    ["-- redis, load, ...\nreturn redis.call('GET', KEYS[1])", true],
    [`return redis.pcall("JSON.GET", KEYS[1])`, true],
    ["return redis.sha1hex(redis.call( 'get', KEYS[1]))", true],
    ["return redis.call('SELECT', 1)", false],
    ['return redis.call(ARGV[1], KEYS[1])', false],
    ['local call = redis.call return call', false],
    ["return redis['call']('GET', KEYS[1])", false],
    ["return server.call('GET', KEYS[1])", false],
    ['redis.setresp(3) return 1', false],
    ['return _G.ARGV', false],
    ["return loadstring('return ARGV[1]')()", false],
    ['return setmetatable({}, {})', false],
    ['local a = "x -- y" return _G.ARGV[2]', false],
    ['local function f(...) return 1 end return f()', false],
  ])('has a form for groups only if it leaves nothing behind for the next call: %s', (source, grouped) => {
    expect(groupForm(define(source)) !== undefined).toBe(grouped);
  });
});

/** Runs calls each alone and in groups, and compares what they get and leave behind. */
describe('calls that are sent alone and in groups have the same outcome', () => {
  let client: Redis;
  let alone: ScriptRegistry;
  let grouped: ScriptRegistry;

  beforeAll(async () => {
    client = standaloneClient();
    const prefix = uniquePrefix();
    alone = await openRegistry(client, { prefix, grouping: false }, []);
    grouped = await openRegistry(client, { prefix }, []);
  });
  afterAll(() => {
    for (const registry of [alone, grouped]) registry.close();
    client.disconnect();
  });

  /** Makes 8 calls in both ways. @returns the first outcome of each way */
  async function both(source: string, group?: GroupOptions, what = 'x'): Promise<unknown> {
    const outcomes: unknown[][] = [];
    for (const registry of [alone, grouped]) {
      const script = define(source, group);
      registry.register([script]);
      const tag = registry.keySpace('test').tag(script.name);
      const ran = await Promise.all(
        Array.from({ length: 8 }, (_, i) => {
          const keys = { one: tag.key('one', String(i % 3)), more: [tag.key('two')] };
          return registry.run(script, { keys, args: { what, rest: [String(i)] } }).catch((error: Error) => error);
        }),
      );
      const name = new RegExp(`${script.name}`, 'g');
      const shown = (value: unknown): unknown =>
        value instanceof Error ? `${value.message}` : Array.isArray(value) ? value.map(shown) : value;
      outcomes.push(ran.map((one) => JSON.parse(JSON.stringify(shown(one)).replaceAll(name, 'NAME')) as unknown));
    }
    expect(outcomes[1]).toEqual(outcomes[0]);
    return outcomes[0]?.[0];
  }

  it.each<[string, string, unknown]>([
    ['a call of a function', "(function() redis.call('INCR', KEYS[1]) end)()\nreturn redis.call('GET', KEYS[1])", '1'],
    ['an error with a level', "error('x', 2)", expect.stringContaining('ERR x (user_script:1)')],
    ['a method of text', "('x'):rep(3)\nreturn ('x'):rep(3)", expect.stringContaining('')],
    ['a key in parentheses', '(KEYS)[1] = (KEYS)[1] .. ARGV[2]\nreturn #KEYS', 2],
    ['a comment', '-- only a comment\nreturn 1', 1],
    ['a long comment', '--[[ a\nb ]] return { 1, ARGV[1] }', [1, 'x']],
    ['a line break', '\n\nreturn 7', 7],
  ])('if the source begins with %s', async (_, source, expected) => {
    const outcome = await both(source);
    if (source.startsWith("('x')")) expect(outcome).toBe('xxx');
    else expect(outcome).toEqual(expected);
  });

  it('if a section `-- @call` begins with a parenthesis', async () => {
    const source = "local n = 'n'\n-- @call\n(function() redis.call('INCR', KEYS[1] .. n) end)()\nreturn n";
    expect(await both(source)).toBe('n');
  });

  it.each([
    ['a comment', 'return 3 -- the end', 3],
    ['a line of comment', 'return 3\n-- the end', 3],
    ['a long comment', 'return 3 --[==[ the\nend ]==]', 3],
    ['a semicolon', 'return 3;', 3],
    ['no return', "redis.call('EXISTS', KEYS[1])", null],
    ['an empty return', "redis.call('EXISTS', KEYS[1]) return", null],
  ])('if the source ends with %s', async (_, source, expected) => {
    expect(await both(source)).toEqual(expected);
  });

  it.each<[string, string, unknown]>([
    ['nil', 'return nil', null],
    ['false', 'return false', null],
    ['true', 'return true', 1],
    ['a fraction', 'return -3.99', -3],
    ['the first of several values', 'return 1, 2, 3', 1],
    ['nil, then a value', 'return nil, 2', null],
    ['an array with a hole', 'return { 1, nil, 3 }', [1]],
    ['an array with false', 'return { 1, false, { false } }', [1, null, [null]]],
    ['an empty array', 'return {}', []],
    ['a status', "return redis.status_reply('FINE')", 'FINE'],
    ['a nested error', "return { 1, redis.error_reply('MYCODE x'), 2 }", [1, 'MYCODE x', 2]],
    ['a nested status', "return { { ok = 'FINE' } }", ['FINE']],
    ['a large text', "return #string.rep('x', 1000000) .. string.rep('y', 9)", '1000000yyyyyyyyy'],
    ['a function', 'return tostring', null],
    ['all globals', 'return _G', []],
    ['the keys and arguments', 'return { #KEYS, #ARGV, ARGV[1], ARGV[2] }', [2, 2, 'x', '0']],
    ['text that has a meaning elsewhere', "return { 'QUEUED', 'e', '.' }", ['QUEUED', 'e', '.']],
  ])('if it is %s', async (_, source, expected) => {
    expect(await both(source)).toEqual(expected);
  });

  it.each<[string, string, string | RegExp]>([
    ['returns an error', "return redis.error_reply('MYCODE x')", 'The script NAME failed: MYCODE x'],
    ['returns an error without a code', "return { err = 'my words' }", 'The script NAME failed: ERR my words'],
    [
      'returns the error of a command',
      "return redis.pcall('HGET', KEYS[1])",
      /^The script NAME failed: ERR Wrong number of args/,
    ],
    ['raises text', "\nerror('boom')", 'The script NAME failed: ERR user_script:2: boom'],
    ['raises text without a position', "\nerror('boom', 0)", 'The script NAME failed: ERR boom (user_script:2)'],
    ['raises an error table', "\nerror({ err = 'MYCODE x' })", 'The script NAME failed: MYCODE x (user_script:2)'],
    [
      'raises an error reply',
      "\n\nerror(redis.error_reply('MYCODE x'))",
      'The script NAME failed: MYCODE x (user_script:3)',
    ],
    ['raises nothing', 'error()', /^The script NAME failed: ERR (unknown error|nil)/],
    ['raises true', 'error(true)', /^The script NAME failed: ERR true/],
    ['calls nil', 'local a\n\na()', /^The script NAME failed: ERR user_script:3: attempt to call/],
    [
      'calls a command wrongly',
      "\nredis.call('HGET', KEYS[1])",
      /^The script NAME failed: ERR Wrong number .* \(user_script:2\)$/,
    ],
    ['sets a global', '\na = 1', /^The script NAME failed: ERR user_script:2: Attempt to modify a readonly table/],
    ['reads a global', '\nreturn undeclared', /user_script:2: .*global variable 'undeclared'/],
    [
      'fails in its section above the calls',
      "local x = nil .. ''\n-- @call\nreturn 1",
      /user_script:1: attempt to concat/,
    ],
    ['fails below', "local x = 1\n-- @call\nerror('boom')", 'The script NAME failed: ERR user_script:3: boom'],
    [
      'raises in a function',
      "local function f()\n  error('deep')\nend\n-- @call\nf()",
      'The script NAME failed: ERR user_script:2: deep',
    ],
    ['overflows the stack', 'local function f() return 1 + f() end return f()', /stack overflow/],
  ])('if it %s', async (_, source, expected) => {
    const matches = typeof expected === 'string' ? expect.stringContaining(expected) : expect.stringMatching(expected);
    expect(await both(source)).toEqual(matches);
  });

  it.each([
    ['changes its arguments', "ARGV[1] = ARGV[1] .. 'n' KEYS[2] = nil return { ARGV[1], #KEYS }"],
    ['changes their number', 'table.insert(ARGV, 1) table.remove(KEYS) return { #ARGV, #KEYS }'],
    ['gives names a meaning of its own', "local unpack, xpcall, tostring, type, rawget = 1, 2, 3, 4, 5 error('own')"],
    ['gives `redis` a meaning of its own', 'local redis = 5 return redis'],
    [
      'catches an error',
      "local ok, e = pcall(function() error({ err = 'MYCODE x' }) end) return { tostring(ok), e.err }",
    ],
    ['catches the error of a command', "local ok, e = pcall(redis.call, 'NOSUCH') return { tostring(ok), type(e) }"],
    ['changes the time', "local t = redis.call('TIME') t[1] = 'x' return #t"],
    ['loads Lua that reads ARGV', "return loadstring('return ARGV[2] .. #KEYS')()"],
    ['reads ARGV as a global', 'return _G.ARGV[2] .. #_G.KEYS'],
    ['reads ARGV as a global behind text that looks like a comment', "local a = 'x -- y' return _G.ARGV[2] .. a"],
    [
      'selects a database',
      "redis.call('SET', KEYS[1], 1, 'PX', 60000) redis.call('select', ARGV[2] % 2) return redis.call('EXISTS', KEYS[1])",
    ],
    ['makes random numbers', 'math.randomseed(ARGV[2]) return math.random(1000000)'],
    ['reads what Lua calls varargs', 'return { ... }'],
  ])('if it %s', async (_, source) => {
    await both(source);
  });

  it('if the sections of `group.source` end in `-- @finish`', async () => {
    const source = "return redis.call('INCRBY', KEYS[2], ARGV[2])";
    const group = {
      source:
        "local sum, base = 0, nil\n-- @call\nbase = base or redis.call('GET', KEYS[2]) or 0\nsum = sum + ARGV[2]\nreturn base + sum\n" +
        "-- @finish\nredis.call('INCRBY', KEYS[2], sum)\nsum = 0",
    };
    expect(await both(source, group)).toBe(0);
  });

  it('but for an error of `-- @finish`, which rejects every call of its group', async () => {
    const script = define('return 1', { source: "-- @call\nreturn 1\n-- @finish\nerror('finish')" });
    grouped.register([script]);
    const one = grouped.keySpace('test').tag('finish').key('one');
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () => grouped.run(script, { keys: { one, more: [] }, args: { what: '', rest: [] } })),
    );
    const failed = outcomes.filter(({ status }) => status === 'rejected');
    expect(failed.length).toBeGreaterThanOrEqual(16);
    for (const one of failed) {
      expect(one).toMatchObject({ reason: { code: 'SCRIPT_FAILED', message: /user_script:4: finish/ } });
    }
  });
});
