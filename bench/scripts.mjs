// The scripts and calls of script-registry.bench.mjs.
const counting = ({ int }) => ({
  keys: ['counter'],
  args: { limit: int, windowMs: int, cost: int },
  reply: ([allowed, used, resetMs]) => ({ allowed: allowed === 1, used, resetMs }),
});

/** @param registryLib the library script-registry of the tree that is measured */
export function definedBy(registryLib) {
  const { defineScript, str } = registryLib;
  /** The classic: INCR and an expiry in one script. */
  const limiter = defineScript({
    ...counting(registryLib),
    name: 'bench.limiter',
    source: `
local used = redis.call('INCRBY', KEYS[1], ARGV[3])
local window_ms = tonumber(ARGV[2])
if used == tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], window_ms) end
return { used <= tonumber(ARGV[1]) and 1 or 0, used, window_ms }`,
  });
  /** A heavier one: refusals are not counted, a lost TTL is healed, and the reset is exact. */
  const window = defineScript({
    ...counting(registryLib),
    name: 'bench.window',
    source: `
local limit, window_ms, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
local ttl_ms = redis.call('PTTL', KEYS[1])
if ttl_ms <= 0 then used, ttl_ms = 0, window_ms end
if used + cost > limit then return { 0, used, ttl_ms } end
redis.call('SET', KEYS[1], used + cost, 'PX', ttl_ms)
return { 1, used + cost, ttl_ms }`,
  });
  const grab = defineScript({
    name: 'bench.grab',
    keys: ['grants', 'pool', 'outbox'],
    args: { userId: str },
    source: `
local mine = redis.call('HGET', KEYS[1], ARGV[1])
if mine then return { 1, mine } end
local packet = redis.call('RPOP', KEYS[2])
if not packet then return { -1, '' } end
redis.call('HSET', KEYS[1], ARGV[1], packet)
redis.call('XADD', KEYS[3], '*', 'user', ARGV[1], 'packet', packet)
return { 0, packet }`,
    reply: ([code, packet]) => ({ code, packet }),
  });
  return { limiter, window, grab };
}

const KEYS = 10_000;
const WINDOW_MS = 3_600_000;
const GRAB_KEYS = { grants: '{a}:grants', pool: '{a}:pool', outbox: '{a}:outbox' };

/** Calls by registry.run: `count` by a script that counts, `grab`. */
export async function openRegistry(client, { load, lib }, scripts) {
  const { ScriptRegistryModule, ScriptRegistry } = lib('script-registry');
  class App {}
  load('@nestjs/common').Module({
    imports: [
      ScriptRegistryModule.forRoot({ client, preload: 'required' }),
      ScriptRegistryModule.forFeature(Object.values(scripts)),
    ],
  })(App);
  const app = await load('@nestjs/core').NestFactory.createApplicationContext(App, { logger: false });
  const registry = app.get(ScriptRegistry);
  return {
    count: (script, i, limit) =>
      registry.run(script, {
        keys: { counter: `counter:${i % KEYS}` },
        args: { limit, windowMs: WINDOW_MS, cost: 1 },
      }),
    grab: (i) => registry.run(scripts.grab, { keys: GRAB_KEYS, args: { userId: `user-${i}` } }),
    close: () => app.close(),
  };
}

/** The same calls by EVALSHA. */
export async function openEvalsha(redis, scripts) {
  const shas = new Map();
  for (const script of Object.values(scripts)) shas.set(script, await redis.script('LOAD', `#!lua\n${script.source}`));
  const { grab } = scripts;
  return {
    count: async (script, i, limit) =>
      script.reply(await redis.evalsha(shas.get(script), 1, `counter:${i % KEYS}`, limit, WINDOW_MS, 1)),
    grab: async (i) =>
      grab.reply(await redis.evalsha(shas.get(grab), 3, '{a}:grants', '{a}:pool', '{a}:outbox', `user-${i}`)),
  };
}

/** Fills what users grab from. */
export async function fillPool(redis, packets) {
  for (let from = 0; from < packets; from += 10_000) {
    await redis.rpush('{a}:pool', ...Array.from({ length: 10_000 }, (_, i) => `${from + i}:100`));
  }
}
