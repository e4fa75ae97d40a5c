import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis';
import {
  defineScript,
  int,
  list,
  str,
  ScriptRegistry,
  type ScriptDefinition,
  type ScriptRegistryModuleOptions,
} from 'luanest/script-registry';
import { MemoryRedis } from '../../memory-redis/src/memory-redis';
import { connectClient } from '../src/connection/connect';
import { resolveOptions } from '../src/script-registry.options';
import { sharedClusterNodes, sharedRedisUrl } from '../../../test/support/shared-servers';

/** A limiter like those that users would write: counts, and never leaves a key without a TTL. */
export const limiter = defineScript({
  name: 'test.limiter',
  keys: ['counter'],
  args: { limit: int, windowMs: int, cost: int },
  source: `
local limit, window_ms, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
local ttl_ms = redis.call('PTTL', KEYS[1])
if ttl_ms <= 0 then used, ttl_ms = 0, window_ms end
if used + cost > limit then return { 0, used, ttl_ms } end
redis.call('SET', KEYS[1], used + cost, 'PX', ttl_ms)
return { 1, used + cost, ttl_ms }`,
  reply: ([allowed, used = 0, resetMs = 0]: number[]) => ({ allowed: allowed === 1, used, resetMs }),
});

/** Counts a call, and answers a replay of the same token with the first answer. */
export const countOnce = defineScript({
  name: 'test.count-once',
  keys: ['counter', 'tokens'],
  args: { token: str },
  source: `
local first = redis.call('HGET', KEYS[2], ARGV[1])
if first then return { tonumber(first), 1 } end
local count = redis.call('INCR', KEYS[1])
redis.call('HSET', KEYS[2], ARGV[1], count)
redis.call('PEXPIRE', KEYS[1], 600000)
redis.call('PEXPIRE', KEYS[2], 600000)
return { count, 0 }`,
  reply: ([count = 0, replayed]: number[]) => ({ count, replayed: replayed === 1 }),
});

/** Appends to a list, so that a test can see which calls ran, how often and in which order. */
export const append = defineScript({
  name: 'test.append',
  keys: ['log'],
  args: { entry: str },
  source: `redis.call('RPUSH', KEYS[1], ARGV[1]) redis.call('PEXPIRE', KEYS[1], 600000) return redis.call('LLEN', KEYS[1])`,
  reply: (length: number) => length,
});

/** Returns a reply of any shape that a script can return, by name. */
export const shapes = defineScript({
  name: 'test.shapes',
  keys: ['any'],
  args: { shape: str, text: str },
  source: `
local shape = ARGV[1] -- KEYS[9] in a comment is not a parameter
if shape == 'int' then return 42 end
if shape == 'digits' then return '42' end
if shape == 'text' then return ARGV[2] end
if shape == 'nil' then return nil end
if shape == 'nothing' then return end
if shape == 'true' then return true end
if shape == 'fraction' then return 3.99 end
if shape == 'false' then return false end
if shape == 'pair' then return { 1, ARGV[2] } end
if shape == 'triple' then return { 1, '2', { 3, ARGV[2] } } end
if shape == 'hole' then return { 1, nil, 3 } end
if shape == 'null' then return { 1, false, 3 } end
if shape == 'empty' then return {} end
if shape == 'values' then return 1, ARGV[2] end
if shape == 'values-nil' then return nil, 2 end
if shape == 'marks' then return { 'e', ARGV[2] } end
if shape == 'numbered-status' then return { 1, ok = 'FINE' } end
if shape == 'numbered-error' then return { 1, err = 'MYCODE ' .. ARGV[2] } end
if shape == 'status' then return redis.status_reply('FINE') end
if shape == 'error' then return redis.error_reply('MYCODE ' .. ARGV[2]) end
if shape == 'raise' then error('raised ' .. ARGV[2]) end
if shape == 'wrongtype' then redis.call('SET', KEYS[1], 'x', 'PX', 60000) return redis.call('HGET', KEYS[1], 'f') end
return redis.call('TIME')`,
  reply: (raw: unknown) => raw,
});

/** Reads the time once for all calls of a group, in its section above the calls. */
export const clock = defineScript({
  name: 'test.clock',
  keys: ['any'],
  args: { shape: str },
  source: `
local time = redis.call('TIME')
local us = string.format('%.0f', time[1] * 1000000 + time[2])
-- @call
if ARGV[1] == 'nil' then return nil end
if ARGV[1] == 'error' then return redis.error_reply('MYCODE refused') end
if ARGV[1] == 'raise' then error('raised') end
return { us, KEYS[1] }`,
  reply: (raw: string[] | null) => raw,
});

/** Counts its calls, but for those that raise before: how many they were, how often that was written, and a total. */
export const tally = defineScript({
  name: 'test.tally',
  keys: ['any', 'total'],
  args: { what: str, weight: int },
  source: `
if ARGV[1] == 'before' then error('raised') end
redis.call('HINCRBY', KEYS[1], 'calls', 1)
redis.call('HINCRBY', KEYS[1], 'writes', 1)
redis.call('PEXPIRE', KEYS[1], 60000)
redis.call('INCRBY', KEYS[2], 1)
redis.call('PEXPIRE', KEYS[2], 60000)
if ARGV[1] == 'after' then error('raised') end
if ARGV[1] == 'error' then return redis.error_reply('MYCODE refused') end
if ARGV[1] == 'nil' then return nil end
return { ARGV[1], ARGV[2], KEYS[1] }`,
  group: {
    source: `
local counts = {}
-- @call
if ARGV[1] == 'before' then error('raised') end
counts[KEYS[1]] = (counts[KEYS[1]] or 0) + 1
if ARGV[1] == 'after' then error('raised') end
if ARGV[1] == 'error' then return redis.error_reply('MYCODE refused') end
if ARGV[1] == 'nil' then return nil end
return { ARGV[1], ARGV[2], KEYS[1] }
-- @finish
local count = counts[KEYS[1]]
if not count then return end
counts[KEYS[1]] = nil
redis.call('HINCRBY', KEYS[1], 'calls', count)
redis.call('HINCRBY', KEYS[1], 'writes', 1)
redis.call('PEXPIRE', KEYS[1], 60000)
redis.call('INCRBY', KEYS[2], count)
redis.call('PEXPIRE', KEYS[2], 60000)`,
  },
  reply: (raw: string[] | null) => raw,
});

/** Returns its arguments and its key. */
export const columns = defineScript({
  name: 'test.columns',
  keys: ['any'],
  args: { one: str, rule: str, two: int },
  source: `return { ARGV[1], ARGV[2], ARGV[3], #ARGV, KEYS[1], #KEYS }`,
  reply: (raw: unknown[]) => raw,
});

/** Takes lists of keys and of arguments. */
export const sumAll = defineScript({
  name: 'test.sum-all',
  keys: ['total', 'parts[]'],
  args: { factor: int, extra: list(int) },
  source: `
local sum = 0
for i = 2, #KEYS do sum = sum + tonumber(redis.call('GET', KEYS[i]) or '0') end
for i = 2, #ARGV do sum = sum + tonumber(ARGV[i]) end
redis.call('SET', KEYS[1], sum * tonumber(ARGV[1]), 'PX', 60000)
return { sum * tonumber(ARGV[1]), #KEYS, #ARGV }`,
  reply: (raw: number[]) => raw,
});

export const allScripts: ScriptDefinition[] = [limiter, countOnce, append, shapes, clock, tally, columns, sumAll];

/** A registry outside Nest; close it with `close`. */
export async function openRegistry(
  client: Redis | Cluster,
  options: ScriptRegistryModuleOptions = {},
  scripts: readonly ScriptDefinition[] = allScripts,
): Promise<ScriptRegistry> {
  // A busy machine may need more than the default of 5 s.
  const patience = options.preload === 'required' ? { preloadTimeoutMs: 30_000 } : {};
  const registry = new ScriptRegistry('test', connectClient(client), { ...resolveOptions(options), ...patience });
  registry.register(scripts);
  await registry.onModuleInit();
  return registry;
}

/** The in-memory server of this test file, if LUANEST_TEST_SERVER=memory. Suites must have the same results on both. */
const memory = process.env.LUANEST_TEST_SERVER === 'memory' ? new MemoryRedis() : undefined;

export function standaloneClient(options: RedisOptions = {}): Redis {
  return quiet(memory?.client(options) ?? new Redis(sharedRedisUrl(), options));
}

export function clusterClient(options: ClusterOptions = {}): Cluster {
  return quiet(new Cluster(sharedClusterNodes(), { slotsRefreshTimeout: 5_000, ...options }));
}

/** Faults are the subject of these tests: ioredis need not print them. */
export function quiet<T extends Redis | Cluster>(client: T): T {
  client.on('error', () => undefined);
  return client;
}

/** Makes the lanes of a registry, from now on, hold calls back with this many in flight. */
export function limitCallsInFlight(registry: ScriptRegistry, calls: number): void {
  (registry as unknown as { context: { maxCallsInFlight: number } }).context.maxCallsInFlight = calls;
}
