import calculateSlot from 'cluster-key-slot';
import fc from 'fast-check';
import {
  defineScript,
  int,
  InvalidKeyError,
  InvalidOptionError,
  InvalidScriptError,
  KeySpace,
  list,
  str,
} from 'luanest/script-registry';
import { slotOf } from '../../internal/src';
import { connectIoredis } from '../src/connection/ioredis-connection';
import { formsOf } from '../src/lua/forms';
import { sourceUse } from '../src/lua/source-use';
import { splitLua, withoutComments } from '../src/lua/tokens';
import { resolveOptions } from '../src/script-registry.options';
import { standaloneClient } from './support';

const base = { name: 'test.x', keys: ['k'] as const, args: {}, source: 'return 1', reply: (raw: number) => raw };

describe('defineScript', () => {
  it.each([
    ['a name without a lib', { name: 'x' }, /^defineScript\("x"\): .*<lib>\.<verb>/],
    ['no key', { keys: [] }, /^defineScript\("test\.x"\): `keys` is empty/],
    ['a key twice', { keys: ['a', 'a'] }, /Two keys have the same name: a, a/],
    ['an argument that would be reordered', { args: { b: int, 1: int } }, /One argument is named "1"/],
    ['an argument with brackets', { args: { 'a[]': int } }, /One argument is named "a\[\]"/],
    ['a key and a list of keys with one name', { keys: ['a', 'a[]'] }, /Two keys have the same name: a, a\[\]/],
    ['a list of keys that is not last', { keys: ['a[]', 'b'] }, /list of keys must be the last key/],
    ['a list argument that is not last', { args: { a: list(str), b: int } }, /list argument must be the last argument/],
    ['an undeclared key', { source: 'return redis.call("GET", KEYS[2])' }, /KEYS\[2\].*declares 1: k/],
    ['an undeclared argument', { source: 'return ARGV[1]' }, /ARGV\[1\].*declares 0: none/],
    ['an index below 1', { source: 'return KEYS[0]' }, /KEYS\[0\].*start at 1/],
    ['an index that is not an integer', { source: 'return KEYS[1.5]' }, /KEYS\[1\.5\]/],
    ['an empty source', { source: ' ' }, /source is " "/],
    ['shared code that reads a key', { shared: 'local k = KEYS[1]' }, /`shared` reads KEYS or ARGV/],
    ['shared code that loops over arguments', { shared: 'local n = #ARGV' }, /`shared` reads KEYS or ARGV/],
    ['a finish that reads an argument', { finish: 'local a = ARGV[1]' }, /`finish` reads ARGV, or KEYS /],
    ['a finish that loops over keys', { finish: 'local n = #KEYS' }, /`finish` reads ARGV, or KEYS /],
    ['a finish that reads a key too many', { finish: "redis.call('DEL', KEYS[9])" }, /KEYS\[9\]/],
    [
      'finish in a script that reads ARGV as a whole',
      { finish: 'n = 1', source: 'return #ARGV' },
      /`finish` is not allowed/,
    ],
    ['finish in a script with a list', { finish: 'n = 1', args: { values: list(str) } }, /`finish` is not allowed/],
    ['a #! line of its own', { source: '#!lua\nreturn 1' }, /begins with a #! line/],
    ['an unknown flag', { flags: ['no-cluster'] }, /flags contains "no-cluster"/],
    ['an empty group', { group: { maxCalls: 0 } }, /group\.maxCalls is 0/],
  ])('refuses %s', (_what, change, message) => {
    const define = (): unknown => defineScript({ ...base, ...change } as never);
    expect(define).toThrow(InvalidScriptError);
    expect(define).toThrow(message);
  });

  it('ignores KEYS and ARGV in comments and strings', () => {
    const source = `-- KEYS[7]\n--[==[ ARGV[8] ]] ]==] local s = "KEYS[9] \\" ARGV[9]" .. [[KEYS[5]]] .. 'it\\'s ARGV[4]'\nreturn KEYS[1]`;
    expect(sourceUse(source)).toMatchObject({ keyIndexes: [1], argIndexes: [], whole: false, alone: undefined });
    expect(defineScript({ ...base, source })).toMatchObject({ name: 'test.x' });
  });

  it.each([
    'redis.set_repl(redis.REPL_NONE) return KEYS[1]',
    'redis.setresp(3) return KEYS[1]',
    "redis['setresp'](3) return KEYS[1]",
    'local r = redis return r.call("TIME")',
    'local call = redis.call return call("GET", KEYS[1])',
    'return redis.call(ARGV[1], KEYS[1])',
    "return redis.call('TI' .. 'ME')",
    "return redis.call('\\84IME')",
    "return redis.pcall('TIME')",
    "return redis.call('TIME', unpack({}))",
    "redis.call('select', 1) return KEYS[1]",
    'return redis.call [[TIME]]',
    "return pcall(redis.call, 'TIME')",
    "local pcall = function(f) return f('TIME') end return pcall(redis.call, 'GET', KEYS[1])",
    'return math.random(10)',
    "return math['random'](10)",
    'local m = math return m.random(10)',
    "return loadstring('return ARGV[1]')()",
    "return _G['ARGV'][1]",
    'local a = ... return a',
    'local redis = { call = print } return redis.call("TIME")',
    'local t = { f = function(self, redis) return redis.call("TIME") end } return KEYS[1]',
    'redis.call = 1 return KEYS[1]',
    'KEYS = { 1 } return KEYS[1]',
    'local a a, ARGV = 1, {} return KEYS[1]',
    'function ARGV() end return KEYS[1]',
    'return setmetatable({ KEYS[1] }, {})',
  ])('sends calls alone if they could affect other calls of a group: %s', (source) => {
    expect(sourceUse(source).alone).toEqual(expect.any(String));
  });

  it.each([
    'local t = { #ARGV[1], ok = 5 } return { 1, KEYS[1], ARGV[1], n = 1 }',
    'local x = {} x.KEYS = { 1 } x.redis = 2 x.load = 3 return x.KEYS[1]',
    'if tonumber(ARGV[1]) == 1 then return redis.call("GET", KEYS[1]) end return type(KEYS[1])',
    'local a = KEYS[1] .. "x" .. KEYS[1] return a',
    "local ok, found = pcall(redis.call, 'GET', KEYS[1]) return ok and found",
    'local a, tonumber = 1, 2 return KEYS[1]',
    'local table, string, type = 1, 2, 3 return KEYS[1]',
    "return { redis.call('TIME'), redis.sha1hex('x'), math.floor(1.5), redis.LOG_NOTICE }",
    'if KEYS[1] == ARGV[1] then return { KEYS[1], ARGV[1] } end local a, b = KEYS[1], ARGV[1] local c = 1 return c',
  ])('groups %s', (source) => {
    expect(sourceUse(source)).toMatchObject({ alone: undefined, whole: false });
  });

  it.each([
    'ARGV[1] = 2 return ARGV[1]',
    'local a a, ARGV[1] = 1, 2 return a',
    'ARGV[1], KEYS[1] = 1, 2',
    'local t = {} ARGV[1], t["x"], t.y = 1, 2, 3',
    'local t = {} ARGV[1], (t).x = 1, 2',
    'local a = { function() ARGV[1], a = 1, 2 end }',
    'local a = ARGV return a[1]',
    'table.insert(ARGV, 1) return KEYS[1]',
    'rawset(KEYS, 1, "x") return KEYS[1]',
    'for _, key in ipairs(KEYS) do key = 1 end',
    'local function f(t) t[1] = 2 end f(ARGV)',
    'return #ARGV',
    'return ARGV[1 + 1]',
  ])('gives each call its own KEYS and ARGV: %s', (source) => {
    expect(sourceUse(source)).toMatchObject({ alone: undefined, whole: true });
  });

  it('refuses names that are reserved for the registry', () => {
    for (const lua of [
      { source: 'return luanest_n' },
      { shared: 'local luanest_x = 1' },
      { finish: 'luanest_time()' },
    ]) {
      expect(() => defineScript({ ...base, ...lua })).toThrow(
        /uses the name luanest_\w+\. Names that begin with luanest_ are reserved/,
      );
    }
  });

  it('leaves fields that are only named like parameters alone', () => {
    const { group } = formsOf(
      {
        source: 'local x = {} x.KEYS = { 7 } return { x.KEYS[1], KEYS[1] }',
        shared: '',
        finish: '',
        timed: false,
        flags: [],
      },
      { fixedKeys: 1, fixedArgs: [], lists: false },
      true,
      false,
    );
    expect(group?.body).toContain('{ x.KEYS[1], KEYS[luanest_k+1] }');
  });

  describe('splitLua', () => {
    const pieces = ['--', '[[', ']]', '[=[', ']=]', '"', "'", '\\', '\n', 'KEYS', '[', ']', '1', '..', 'x', ' ', 'é'];
    const lua = fc.array(fc.constantFrom(...pieces)).map((chosen) => chosen.join(''));

    it('cuts any text into tokens that join to the same text', () => {
      fc.assert(fc.property(lua, (text) => splitLua(text).texts.join('') === text));
    });

    it('knows the tokens of a text whose comments were removed', () => {
      fc.assert(
        fc.property(lua, (text) => {
          const stripped = withoutComments(text);
          const { texts, code, places } = splitLua(stripped);
          expect(texts.join('')).toBe(stripped);
          expect(places.map((place) => texts[place])).toEqual(code.map((token) => token.text));
          // A text that was not seen before is split.
          expect(code).toEqual(splitLua(`${stripped} `).code);
          expect(stripped.split('\n')).toHaveLength(text.split('\n').length);
        }),
      );
    });
  });

  it('rewrites literal indexes to offsets, reads TIME once a group, and keeps line numbers and operators', () => {
    const source = `local a = KEYS[1] .. ARGV[ 2 ] -- KEYS[1]\nif a ~= 'KEYS[1]' then return redis.call("TIME") end\nreturn a`;
    const { group } = formsOf(
      { source, shared: '', finish: '', timed: false, flags: [] },
      { fixedKeys: 1, fixedArgs: [false, false], lists: false },
      true,
      false,
    );
    expect(group?.body).toContain('local a = KEYS[luanest_k+1] .. ARGV[luanest_a+2]');
    expect(group?.body).toContain(`if a ~= 'KEYS[1]' then return luanest_time() end`);
    expect(group?.body.startsWith('#!lua\n')).toBe(true);
  });
});

describe('KeySpace', () => {
  const space = new KeySpace('app', 'test');
  const subject = fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }).filter((text) => text.isWellFormed());

  it('keeps one hash tag whatever the subject and the segments contain', () => {
    fc.assert(
      fc.property(
        fc.oneof(subject, fc.constantFrom('}', '{', '{}', '}{', '{a}b', 'a:b', '%7B')),
        subject,
        (who, segment) => {
          const tag = space.tag(who);
          const keys = [tag.key('one'), tag.key('two', segment), tag.key('two', segment, '}{')];
          expect(new Set(keys.map((key) => calculateSlot(key))).size).toBe(1);
          const inner = /^app:test:\{([^{}]+)\}/.exec(keys[0] as string)?.[1] as string;
          expect(calculateSlot(keys[0] as string)).toBe(calculateSlot(inner));
        },
      ),
    );
  });

  it('gives different subjects and segments different keys', () => {
    const parts = fc.tuple(subject, fc.array(subject, { maxLength: 3 }));
    fc.assert(
      fc.property(parts, parts, ([a, as], [b, bs]) => {
        const equal = a === b && JSON.stringify(as) === JSON.stringify(bs);
        expect(space.tag(a).key('k', ...as) === space.tag(b).key('k', ...bs)).toBe(equal);
      }),
    );
    expect(space.tag('s').key('k', 'a:b', 'c')).not.toBe(space.tag('s').key('k', 'a', 'b:c'));
    expect(space.tag('{').key('k')).not.toBe(space.tag('%7B').key('k'));
  });

  it.each(['', '\ud800', 'x'.repeat(1_025), undefined])('refuses the subject %p', (value) => {
    expect(() => space.tag(value as string)).toThrow(InvalidKeyError);
    expect(() => space.tag('s').key('k', value as string)).toThrow(InvalidKeyError);
  });

  it('builds keys in the slot of an existing key, with its hash tag unchanged', () => {
    expect(space.sameSlotAs('other:{a%7Bb}:stream').key('note', 'x')).toBe('app:test:{a%7Bb}:note:x');
    expect(space.sameSlotAs('x{a{b}}').key('note')).toBe('app:test:{a{b}:note');
    expect(space.sameSlotAs('plain').key('note')).toBe('app:test:{plain}:note');
    for (const key of ['{}a', 'a{b', 'a}b', '']) expect(() => space.sameSlotAs(key)).toThrow(InvalidKeyError);
    for (const key of ['other:{a%7Bb}:stream', 'x{a{b}}', 'plain']) {
      expect(slotOf(space.sameSlotAs(key).key('note'))).toBe(slotOf(key));
    }
  });

  it('refuses names and prefixes that would break a key', () => {
    expect(() => space.tag('s').key('Not Kebab')).toThrow(InvalidKeyError);
    expect(() => new KeySpace('a{b', 'test')).toThrow(/brace/);
    expect(() => new KeySpace('a', 'te:st')).toThrow(InvalidKeyError);
  });
});

describe('options', () => {
  it.each([
    [{ deadlineMs: 0 }, /deadlineMs.*0/],
    [{ deadlineMs: 2 ** 31 }, /deadlineMs/],
    [{ preloadTimeoutMs: 1.5 }, /preloadTimeoutMs.*1\.5/],
    [{ preload: 'lazy' }, /preload.*'required' or 'best-effort'/],
    [{ prefix: '' }, /prefix/],
    [{ prefix: 'a{' }, /prefix.*braces/],
    [{ prefix: 'x'.repeat(1_025) }, /prefix.*1 to 1024 characters/],
    [{ prefix: '\ud800' }, /prefix.*well-formed/],
    [{ maxCallsInFlight: 0 }, /maxCallsInFlight/],
    [{ grouping: 'yes' }, /grouping/],
    [{ dead: 1 }, /^ScriptRegistryModule: There is no option "dead"\. Known: url, /],
    [{ source: { module: 'sentinel' } }, /source\.module/],
    [{ client: {}, source: {} }, /client and source/],
  ])('refuses %p', (options, message) => {
    expect(() => resolveOptions(options as never)).toThrow(InvalidOptionError);
    expect(() => resolveOptions(options as never)).toThrow(message);
  });

  it('refuses a client with a keyPrefix, and a value that is not a client', () => {
    const client = standaloneClient({ keyPrefix: 'mine:', lazyConnect: true });
    expect(() => connectIoredis(client)).toThrow(/keyPrefix "mine:".*prefix/);
    // As a client of node-redis, which has a method `sendCommand`, too.
    const nodeRedis = { isOpen: true, isReady: true, sendCommand: () => Promise.resolve('PONG') };
    for (const value of ['redis://localhost', nodeRedis]) {
      expect(() => connectIoredis(value as never)).toThrow(/client is .* Expected a Redis or a Cluster of ioredis/);
    }
    client.disconnect();
  });
});
