import type { Redis } from 'ioredis';
import { defineScript, ScriptFailedError, str, type ScriptRegistry } from 'luanest/script-registry';
import { formsOf, type LoneScript } from '../src/lua/forms';
import { openRegistry, standaloneClient } from './support';

interface Text {
  readonly source: string;
  readonly shared?: string;
  readonly finish?: string;
  readonly timed?: boolean;
}

function loneForm({ source, shared = '', finish = '', timed = false }: Text, tagged = false): LoneScript {
  const shape = { fixedKeys: 1, fixedArgs: [], lists: true };
  return formsOf({ source, shared, finish, timed, flags: [] }, shape, true, tagged).single;
}

describe('the form of a call sent alone', () => {
  it.each([
    ['a number', 'return 1'],
    ['a negative number', 'return -1;'],
    ['nothing', "redis.call('DEL', KEYS[1])"],
    ['nil, true, false', 'if a then return nil elseif b then return true end return false'],
    ['an array of anything', 'local a = 1 return { a, KEYS[1] == 1, ARGV[1] ~= 2, { err = a } }'],
    ['a return of a function inside', 'local function f() return f end return { f() }'],
    ['a function in a call in an array', 'return { pcall(function() x = 1 return x end) }'],
  ])('is the source, if it returns %s', (_what, source) => {
    expect(loneForm({ source })).toMatchObject({ body: `#!lua\n${source}\n`, plain: true });
  });

  it('contains no comments, and `shared` before the source', () => {
    const { body } = loneForm({ shared: 'local a = 1 -- one', source: '--[[ two\n]] return { a }' });
    expect(body).toBe('#!lua\nlocal a = 1  \n \n return { a }\n');
  });

  it('returns errors as text, so that they differ from errors of Redis', () => {
    const { body, plain } = loneForm({ source: "if x then return redis.error_reply('A b' .. x) end return { 1 }" });
    expect(body).toContain("if x then return 'e' .. redis.error_reply('A b' .. x).err end return { 1 }");
    expect(plain).toBe(true);
  });

  it.each([
    ['a variable', 'local a = 1 return a'],
    ['a call', "return redis.call('GET', KEYS[1])"],
    ['several values', 'return 1, 2'],
    ['text', "return 'x'"],
    ['a table with a field', "return { 1, err = 'A b' }"],
    ['a table with a computed field', "return { 1, ['e' .. 'rr'] = 'A b' }"],
    ['more than an error', "return redis.error_reply('A b') or 1"],
    ['an error of its own `redis`', 'local redis = { error_reply = tostring } return redis.error_reply(1)'],
    ['a variable in a block', 'for i = 1, 2 do if KEYS[i] then return i end end return { 1 }'],
  ])('encodes the result at the return, if it returns %s', (_what, source) => {
    const { body, plain } = loneForm({ source });
    expect(body).not.toContain('luanest_call');
    expect(body).toContain('do local reply, b, c, d = ');
    expect(plain).toBe(false);
  });

  it('encodes only the returns that need it', () => {
    const { body } = loneForm({ source: 'if x then return { 1, x } elseif y then return 0 end return x' });
    expect(body).toContain('if x then return { 1, x } elseif y then return 0 end do local reply, b, c, d = x if ');
  });

  it.each(["error('x')", "error(f('x', 2) .. 'y')", "error 'x'", "error { err = 'x', 2 }", 't.error(1, 2)'])(
    'needs no function for %s',
    (source) => expect(loneForm({ source }).body).not.toContain('luanest_call'),
  );

  it.each([
    ['a script with `finish`', { source: 'return 1', finish: 'x()' }, false],
    ['a client with stringNumbers', { source: 'return 1' }, true],
    ['a return in `shared`', { source: 'return 1', shared: 'if x then return 1 end' }, false],
    ['blocks that do not fit together', { source: 'return 1 end do return 2' }, false],
    ['an error with a level', { source: "local function f() error('x', 2) end return f()" }, false],
    ['an error with a level in `shared`', { source: 'return f()', shared: 'function f(...) error(...) end' }, false],
    ['an error with the values of a call', { source: 'error(f())' }, false],
    ['an `error` that is passed on', { source: 'return pcall(error, 1)' }, false],
    ['very many locals', { source: Array.from({ length: 121 }, (_, i) => `local v${i} = 1`).join('\n') }, false],
  ])('keeps the source in a function for %s', (_what, text, tagged) => {
    expect(loneForm(text, tagged)).toMatchObject({ body: expect.stringContaining('luanest_call()'), plain: false });
  });

  it('of a timed script returns the time first, if it returns only arrays, and reads it once', () => {
    const shared = "local time = redis.call('TIME')";
    expect(loneForm({ shared, source: 'if x then return {} end return { x, 2 }', timed: true })).toMatchObject({
      body: expect.stringMatching(
        /^#!lua\nlocal luanest_now = redis\.call\('TIME'\) .*local time = luanest_now\nif x then return \{ luanest_us,\} end return \{ luanest_us, x, 2 \}\n$/,
      ),
      plain: true,
    });
  });

  it.each([
    ['in a loop', "for i = 1, 2 do local t = redis.call('TIME') end return { 1 }"],
    ['twice', "local a = redis.call('TIME') local b = redis.call('TIME') return { 1 }"],
    ['in a function', "local function f() local t = redis.call('TIME') end return { 1 }"],
  ])('of a timed script gets a table of its own for each reading %s', (_what, source) => {
    expect(loneForm({ source, timed: true }).body).toContain('= luanest_time()');
  });
});

describe('calls sent alone', () => {
  let client: Redis;
  let registry: ScriptRegistry;

  const define = (name: string, source: string, timed = false) =>
    defineScript({
      name: `test.lone-${name}`,
      keys: ['runs'],
      args: { what: str },
      source: `redis.call('INCR', KEYS[1]) redis.call('PEXPIRE', KEYS[1], 60000)\n${source}`,
      timed,
      reply: (raw: unknown) => raw,
    });
  const error = 'if ARGV[1] ~= "" then return redis.error_reply(ARGV[1]) end';
  const plain = define('plain', `${error} return 1`);
  const encoded = define('encoded', `${error} return ARGV[1]`);
  const timed = define('timed', `${error} return { 1 }`, true);
  const scripts = { plain, encoded, timed };
  const text = define('text', 'return ARGV[1]');
  const status = define('status', 'return redis.status_reply(ARGV[1])');

  beforeAll(async () => {
    client = standaloneClient();
    registry = await openRegistry(client, { prefix: 'lone' }, [...Object.values(scripts), text, status]);
  });

  afterAll(() => {
    registry.close();
    client.disconnect();
  });

  const key = (name: string): string => registry.keySpace('test').tag(`${name}-${process.pid}`).key('runs');

  describe.each(Object.entries(scripts))('of the %s form', (form, script) => {
    it.each(['READONLY not now', 'NOSCRIPT No matching script', 'MOVED 1 127.0.0.1:1', 'BUSY x', 'MYCODE x'])(
      'reject with the error %s of the script, which ran once',
      async (what) => {
        const runs = key(`${form}-${what.slice(0, 4)}`);
        await client.del(runs);
        const call = registry.run(script, { keys: { runs }, args: { what } });
        await expect(call).rejects.toThrow(new ScriptFailedError(`${script.name} failed: ${what}`, 'x'));
        await expect(call).rejects.toMatchObject({ code: 'SCRIPT_FAILED', redisCode: what.split(' ', 1)[0] });
        expect(await client.get(runs)).toBe('1');
      },
    );
  });

  it.each([
    ['text with a line break of two characters', "local a = 'x\\\r\n return 7 ' return { a }", ['x\n return 7 ']],
    ['the table of all globals', 'return _G', []],
    ['an error with a level', "local function f() error('x', 2) end\nreturn f()", new Error('ERR x')],
  ])('return as EVAL does: %s', async (what, source, expected) => {
    const script = define(what.replaceAll(' ', '-'), source);
    registry.register([script]);
    const result = registry.run(script, { keys: { runs: key('directed') }, args: { what } });
    if (expected instanceof Error) await expect(result).rejects.toThrow(`${script.name} failed: ${expected.message}`);
    else expect(await result).toEqual(expected);
  });

  it('return true of RESP3 as a value', async () => {
    const modern = standaloneClient({ protocol: 3, replyMapping: 'resp3' });
    const script = define('resp3', 'redis.setresp(3) return true');
    const own = await openRegistry(modern, { prefix: 'lone' }, [script]);
    expect(await own.run(script, { keys: { runs: key('resp3') }, args: { what: '' } })).toBe(true);
    own.close();
    modern.disconnect();
  });

  it.each(['QUEUED', 'e', 'eERR x', '.', ''])(
    'return the text %p, which has another meaning elsewhere',
    async (what) => {
      const input = { keys: { runs: key('text') }, args: { what } };
      expect(await registry.run(text, input)).toBe(what);
      expect(await registry.run(status, input)).toBe(what);
    },
  );
});
