import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { defineScript, int, str, type ScriptDefinition, type ScriptRegistry } from 'luanest/script-registry';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { openRegistry, standaloneClient } from './support';

const text = { keys: ['key'], args: { what: str, figure: int }, reply: (raw: unknown) => raw } as const;

/** The usual sliding log: the time of a request is its identity. */
const slidingLog = defineScript({
  ...text,
  name: 'test.sliding-log',
  source: `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - 60000000)
if redis.call('ZCARD', KEYS[1]) >= 10 then return 0 end
redis.call('ZADD', KEYS[1], now, string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[1], 60000)
return 1`,
});

const seconds = defineScript({
  ...text,
  name: 'test.seconds',
  source: `ARGV[2] = ARGV[2] * 1000
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[2]`,
});

const shadows = defineScript({
  ...text,
  name: 'test.shadows',
  source: `local table, string, type, unpack, rawget = { 10, 20 }, 1, 2, 3, 4
local function tostring(v) return 'own' end
local function xpcall() end
-- @call
if ARGV[1] == 'nil' then return nil end
if ARGV[1] == 'error' then error({ err = 'MYCODE x' }) end
return { table[1] + ARGV[2], tostring(1) }`,
});

const chosen = defineScript({
  ...text,
  name: 'test.chosen',
  source: `
redis.call('SELECT', ARGV[2])
redis['setresp'](3)
math.randomseed(ARGV[2])
return redis.call('SET', KEYS[1], math.random(1000000), 'PX', 60000)`,
});

/** Only selects a database, and says whether the key was in the one that it began with. */
const selecting = defineScript({
  ...text,
  name: 'test.selecting',
  source: `local found = redis.call('EXISTS', KEYS[1]) redis.call('SELECT', ARGV[2]) return found`,
});

/** Fails in a line of a call, in a function above the calls, or where Redis refuses a command. */
const failing = defineScript({
  ...text,
  name: 'test.failing',
  source: `local function fail()
  error('from shared')
end
-- @call
local what = ARGV[1] -- line 5
--[[ line 6 ]]
if what == 'raise' then error('boom') end
if what == 'shared' then fail() end
if what == 'command' then return redis.call('HGET', KEYS[1]) end
return select(2, pcall(error, what))`,
});

const scripts: ScriptDefinition[] = [slidingLog, seconds, shadows, chosen, selecting, failing];

describe.each([true, false])('calls that leave together, grouping %s', (grouping) => {
  let client: Redis;
  let registry: ScriptRegistry;

  beforeAll(async () => {
    client = standaloneClient();
    registry = await openRegistry(client, { prefix: uniquePrefix(), grouping }, scripts);
  });

  afterAll(() => {
    registry.close();
    client.disconnect();
  });

  const newKey = (): string => registry.keySpace('test').tag(randomUUID()).key('key');
  const many = (script: typeof slidingLog, calls: number, whats: readonly string[], figure: number, key = newKey()) =>
    Promise.allSettled(
      Array.from({ length: calls }, (_, i) =>
        registry.run(script, { keys: { key }, args: { what: whats[i % whats.length] as string, figure } }),
      ),
    );
  const values = (answers: readonly PromiseSettledResult<unknown>[]): unknown[] =>
    answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : String(answer.reason)));

  it('may see the same time, so an identity that is a time holds only fewer calls than it should', async () => {
    const key = newKey();
    const admitted = values(await many(slidingLog, 300, ['x'], 0, key)).filter((answer) => answer === 1);
    // Redis 7.0 reads a new time for each call of a group, later servers one for the whole group.
    expect(admitted.length).toBeGreaterThanOrEqual(10);
    expect(await client.zcard(key)).toBeLessThanOrEqual(10);
  });

  it('each have parameters of their own to change', async () => {
    expect(new Set(values(await many(seconds as never, 20, ['x'], 10)))).toEqual(new Set([10_000]));
  });

  it('may give any name a meaning of their own', async () => {
    const answers = values(await many(shadows, 21, ['ok', 'nil', 'error'], 5));
    for (const [i, answer] of answers.entries()) {
      expect(answer).toEqual([[15, 'own'], null, expect.stringContaining('MYCODE x')][i % 3]);
    }
  });

  it('leave neither the database, the protocol nor the random numbers to their neighbours', async () => {
    const key = newKey();
    expect(new Set(values(await many(chosen, 20, ['x'], 7, key)))).toEqual(new Set(['OK']));
    await client.select(7);
    const first = await client.get(key);
    await many(chosen, 1, ['x'], 7, key);
    expect(await client.get(key)).toBe(first);
    await client.select(0);
    expect(await client.exists(key)).toBe(0);
  });

  it('begin in the database of the connection, whatever their neighbours select', async () => {
    const key = newKey();
    await client.set(key, 1, 'PX', 60_000);
    expect(new Set(values(await many(selecting, 20, ['x'], 5, key)))).toEqual(new Set([1]));
  });

  it('get the line of the script in which they failed', async () => {
    const answers = values(await many(failing, 21, ['raise', 'shared', 'command'], 0));
    const expected = [
      /test\.failing failed: ERR user_script:7: boom$/,
      /test\.failing failed: ERR user_script:2: from shared$/,
      /test\.failing failed: ERR Wrong number of args .* \(user_script:9\)$/,
    ];
    for (const [i, answer] of answers.entries()) expect(answer).toMatch(expected[i % 3] as RegExp);
  });

  it('say in which line a script does not compile', async () => {
    const wrong = defineScript({ ...text, name: 'test.wrong', source: 'local a\nlocal b\nx x x' });
    const required = openRegistry(client, { grouping, preload: 'required' }, [wrong]);
    await expect(required).rejects.toThrow(
      /Error compiling script \(new function\): user_script:3: '=' expected near 'x'/,
    );
  });
});
