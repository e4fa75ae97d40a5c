// The calls that the benches of single operations make: each operation of luanest, of the library that a Nest app would use
// instead, and of the smallest script of the same job, sent by EVALSHA.
import { randomUUID } from 'node:crypto';
import { subscribe } from 'node:diagnostics_channel';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectNodeRedis } from './harness.mjs';
import { definedBy, fillPool as fillRegistryPool, openRegistry } from './scripts.mjs';

const require = createRequire(import.meta.url);

/** The checkout whose build is measured if no other one is named. */
export const HERE = fileURLToPath(new URL('..', import.meta.url));

/** Loads from a tree: `load` a package as its own libs would, `lib` a built lib. */
export function treeOf(tree) {
  const load = createRequire(join(tree, 'bench', 'operations.mjs'));
  return { load, lib: (name) => load(`../dist/libs/${name}/src/index.js`) };
}

/** Subjects and names are used in turn, so that after the warm-up their keys exist, as those of a running app do. */
const SUBJECTS = 1_000;
const LIMIT = 1_000_000;
const HOUR_MS = 3_600_000;
const LEASE_MS = 30_000;
const REWARDS = 5;
/** Long, because the peers have no deadline, and a machine may stall. */
const DEADLINE_MS = 10_000;

/** Scripts that many start with. They heal no lost TTL, keep no fence, ledger or audit, and check nothing before they write. */
const SCRIPTS = {
  limit: `
local used = redis.call('incr', KEYS[1])
if used == 1 then redis.call('expire', KEYS[1], ARGV[2]) end
return used <= tonumber(ARGV[1]) and 1 or 0`,
  limit3: `
local allowed = 1
for i = 1, 3 do
  local used = redis.call('incr', KEYS[i])
  if used == 1 then redis.call('expire', KEYS[i], ARGV[2]) end
  if used > tonumber(ARGV[1]) then allowed = 0 end
end
return allowed`,
  first: `
if redis.call('get', KEYS[1]) then return 1 end
redis.call('set', KEYS[1], '1')
redis.call('expire', KEYS[1], ARGV[1])
return 0`,
  claim: `
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
return redis.call('get', KEYS[1])`,
  confirm: "redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1",
  record: `
if redis.call('scard', KEYS[1]) >= tonumber(ARGV[2]) then return 1 end
return redis.call('sadd', KEYS[1], ARGV[1]) == 1 and 2 or 0`,
  acquire: "return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])",
  release: "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0",
  grab: `
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then return cjson.encode({ code = '1' }) end
local text = redis.call('rpop', KEYS[2])
if not text then return cjson.encode({ code = '-1' }) end
local packet = cjson.decode(text)
packet['userId'] = ARGV[1]
redis.call('hset', KEYS[1], ARGV[1], packet['redPacketId'])
redis.call('lpush', KEYS[3], cjson.encode(packet))
return cjson.encode({ code = '0', amount = packet['amount'], redPacketId = packet['redPacketId'] })`,
  schedule: "redis.call('hset', KEYS[2], ARGV[1], ARGV[3]) return redis.call('zadd', KEYS[1], ARGV[2], ARGV[1])",
  publish: "return redis.call('xadd', KEYS[1], '*', 'payload', ARGV[1])",
};

async function openLuanest(client, { load, lib }) {
  const { ScriptRegistryModule } = lib('script-registry');
  const { RateLimitEvents, RateLimitModule, RateLimitService } = lib('rate-limit');
  const { OnceModule, OnceService } = lib('once');
  const { ReadRewardModule, ReadRewardService } = lib('read-reward');
  const { LockModule, LockService } = lib('lock');
  const { RedPacketModule, RedPacketService } = lib('red-packet');
  const { DelayedTaskModule, DelayedTaskService } = lib('delayed-task');
  const { StreamConsumerModule, StreamConsumerService } = lib('stream-consumer');
  class App {}
  load('@nestjs/common').Module({
    imports: [
      ScriptRegistryModule.forRoot({ client, preload: 'required', deadlineMs: DEADLINE_MS }),
      RateLimitModule.forRoot({ deadlineMs: DEADLINE_MS }),
      OnceModule.forRoot({}),
      ReadRewardModule.forRoot({ rules: { read: { limit: REWARDS, timeZone: 'Asia/Shanghai' } } }),
      LockModule.forRoot({}),
      RedPacketModule.forRoot({ identity: () => undefined, controller: false }),
      DelayedTaskModule.forRoot({ work: false }),
      StreamConsumerModule.forRoot({}),
    ],
  })(App);
  const app = await load('@nestjs/core').NestFactory.createApplicationContext(App, { logger: false });
  // A decision that was made without Redis is not compared.
  subscribe(RateLimitEvents.redisFailed, ({ error }) => {
    throw new Error(`Redis did not decide: ${error.message}`);
  });
  const services = {
    limits: RateLimitService,
    once: OnceService,
    rewards: ReadRewardService,
    locks: LockService,
    packets: RedPacketService,
    tasks: DelayedTaskService,
    streams: StreamConsumerService,
  };
  for (const [name, token] of Object.entries(services)) services[name] = app.get(token);
  return { ...services, close: () => app.close() };
}

const payload = (i) => ({ order: `order-${i}`, amountCents: i });

function won(outcome, expected) {
  if (outcome !== expected) throw new Error(`A grab was answered ${JSON.stringify(outcome)}.`);
}

/** The calls of luanest; each gets a number that no earlier call had. */
function luanestCalls({ limits, once, rewards, locks, packets, tasks, streams }, id) {
  const rules = [1, 2, 3].map((n) => ({ name: `rule-${n}`, limit: LIMIT, windowMs: HOUR_MS }));
  return {
    limit: (i) => limits.consume(rules[0], id(i % SUBJECTS)),
    'limit-3': (i) => limits.consume(rules.map((rule) => ({ rule, subject: id(i % SUBJECTS) }))),
    first: (i) => once.first(id(i >> 1), { retentionMs: 20_000 }),
    'once-run': (i) => once.run(id(i), {}, () => undefined),
    record: (i) => rewards.record({ rule: 'read', userId: id(Math.floor(i / 5)), itemId: ITEMS[i % 5] }),
    'lock-pair': async (i) => (await locks.acquire(id(i % SUBJECTS), { leaseMs: LEASE_MS })).release(),
    grab: async (i, activity) => won((await packets.grab(activity, id(i))).status, 'won'),
    schedule: (i) => tasks.schedule('order', payload(i), { delayMs: HOUR_MS }),
    publish: (i) => streams.publish('orders', payload(i)),
  };
}

/** Of five reads of a user one is a repeat, and none is too many: a service that knows a full user asks Redis no more. */
const ITEMS = ['article-1', 'article-2', 'article-3', 'article-1', 'article-4'];

/** EVALSHA by ioredis. */
async function ioredisSender(client) {
  const shas = {};
  for (const [name, source] of Object.entries(SCRIPTS)) shas[name] = await client.script('LOAD', source);
  return (name, keys, ...args) => client.evalsha(shas[name], keys.length, ...keys, ...args);
}

/** EVALSHA by node-redis. */
async function nodeRedisSender(client) {
  const shas = {};
  for (const [name, source] of Object.entries(SCRIPTS)) shas[name] = await client.scriptLoad(source);
  return (name, keys, ...args) => client.evalSha(shas[name], { keys, arguments: args });
}

const [LIMIT_TEXT, HOUR_SECONDS_TEXT] = [String(LIMIT), String(HOUR_MS / 1_000)];
const [LEASE_TEXT, DAY_TEXT, REWARDS_TEXT] = [String(LEASE_MS), String(24 * HOUR_MS), String(REWARDS)];

/**
 * The calls of the scripts.
 *
 * @param send sends a script; all arguments are texts, because node-redis takes no numbers
 * @param pool hash tag of what users grab from
 */
function plainCalls(send, id, pool) {
  const grabKeys = ['users', 'pool', 'payouts'].map((name) => `{${pool}}:${name}`);
  return {
    limit: (i) => send('limit', [`limit:${id(i % SUBJECTS)}`], LIMIT_TEXT, HOUR_SECONDS_TEXT),
    'limit-3': (i) => {
      const keys = [1, 2, 3].map((n) => `limit:{${id(i % SUBJECTS)}}:${n}`);
      return send('limit3', keys, LIMIT_TEXT, HOUR_SECONDS_TEXT);
    },
    first: (i) => send('first', [`first:${id(i >> 1)}`], '20'),
    'once-run': async (i) => {
      await send('claim', [`run:${id(i)}`], randomUUID(), LEASE_TEXT);
      return send('confirm', [`run:${id(i)}`], 'done', DAY_TEXT);
    },
    record: (i) => send('record', [`read:${id(Math.floor(i / 5))}`], ITEMS[i % 5], REWARDS_TEXT),
    'lock-pair': async (i) => {
      const token = randomUUID();
      await send('acquire', [`lock:${id(i % SUBJECTS)}`], token, LEASE_TEXT);
      return send('release', [`lock:${id(i % SUBJECTS)}`], token);
    },
    grab: async (i) => won(JSON.parse(await send('grab', grabKeys, id(i))).code, '0'),
    schedule: (i) => {
      const due = String(Date.now() + HOUR_MS);
      return send('schedule', ['{t}:due', '{t}:tasks'], randomUUID(), due, JSON.stringify(payload(i)));
    },
    publish: (i) => send('publish', ['stream:orders'], JSON.stringify(payload(i))),
  };
}

/** Fills what users grab from with the scripts. */
async function fillPool(push, pool, packets) {
  for (let from = 0; from < packets; from += 10_000) {
    const chunk = Array.from({ length: 10_000 }, (_, i) => ({ redPacketId: String(from + i), amount: '1.00' }));
    await push(
      `{${pool}}:pool`,
      chunk.map((packet) => JSON.stringify(packet)),
    );
  }
}

function limitersOf(storeClient, options = {}) {
  const { RateLimiterRedis } = require('rate-limiter-flexible');
  const both = { storeClient, points: LIMIT, duration: HOUR_MS / 1_000, ...options };
  return [1, 2, 3].map((n) => new RateLimiterRedis({ ...both, keyPrefix: `rule-${n}` }));
}

/** Ends of the names of contenders on node-redis; the others are on ioredis. */
const ON_NODE_REDIS = ' on node-redis';

/**
 * How a contender is opened on a client of its own: its calls by operation; `stock`, if what users grab from is its own; `close`,
 * if there is more to close than the client.
 */
const CONTENDERS = {
  luanest: (open) => luanestOn(open.ioredis(), open),
  'rate-limiter-flexible': ({ ioredis, id }) => {
    const limiters = limitersOf(ioredis());
    const { RateLimiterUnion } = require('rate-limiter-flexible');
    const union = new RateLimiterUnion(...limiters);
    const calls = {
      limit: (i) => limiters[0].consume(id(i % SUBJECTS)),
      'limit-3': (i) => union.consume(id(i % SUBJECTS)),
    };
    return { calls };
  },
  redlock: async ({ ioredis, id }) => {
    const { default: Redlock } = await import('redlock');
    const redlock = new Redlock([ioredis()], { retryCount: 0 });
    return { calls: { 'lock-pair': async (i) => (await redlock.acquire([id(i % SUBJECTS)], LEASE_MS)).release() } };
  },
  plain: async ({ ioredis, id }) => {
    const client = ioredis();
    const stock = (_, packets) => fillPool((key, texts) => client.rpush(key, ...texts), 'a', packets);
    return { calls: plainCalls(await ioredisSender(client), id, 'a'), stock };
  },
  [`rate-limiter-flexible${ON_NODE_REDIS}`]: async ({ nodeRedis, id }) => {
    const [limiter] = limitersOf(await nodeRedis(), { useRedisPackage: true });
    return { calls: { limit: (i) => limiter.consume(id(i % SUBJECTS)) } };
  },
  [`plain${ON_NODE_REDIS}`]: async ({ nodeRedis, id }) => {
    const client = await nodeRedis();
    const { limit, 'lock-pair': lockPair, grab } = plainCalls(await nodeRedisSender(client), id, 'n');
    const stock = (_, packets) => fillPool((key, texts) => client.rPush(key, texts), 'n', packets);
    return { calls: { limit, 'lock-pair': lockPair, grab }, stock };
  },
};

async function luanestOn(client, { id, tree }) {
  const services = await openLuanest(client, tree);
  const stock = (activityId, packets) => services.packets.create({ activityId, totalCents: packets * 100, packets });
  return { calls: luanestCalls(services, id), stock, close: services.close };
}

/** luanest on other clients than ioredis 6. */
const OTHER_CLIENTS = {
  'node-redis 6': async (open) => luanestOn(await open.nodeRedis(), open),
  'ioredis 5': (open) => luanestOn(open.ioredis('ioredis5'), open),
  iovalkey: (open) => luanestOn(open.ioredis('iovalkey'), open),
};

/** The calls of script-registry.bench.mjs. Half of 100,000 are refused. */
async function openRegistryCalls({ ioredis, tree }) {
  const scripts = definedBy(tree.lib('script-registry'));
  const client = ioredis();
  const { count, grab, close } = await openRegistry(client, tree, scripts);
  const calls = {
    limiter: (i) => count(scripts.limiter, i, 5),
    'limiter-varied': (i) => count(scripts.limiter, i, 5 + (i % 7)),
    window: (i) => count(scripts.window, i, 5),
    'script-grab': grab,
  };
  return { calls, stock: (_, packets) => fillRegistryPool(client, packets), close };
}

/** Names of the contenders. */
export const ON_IOREDIS = Object.keys(CONTENDERS).filter((name) => !name.endsWith(ON_NODE_REDIS));
export const ALL = Object.keys(CONTENDERS);

/** luanest on each client that it takes; on ioredis 6 first. */
export const ON_CLIENTS = ['luanest', ...Object.keys(OTHER_CLIENTS)];

const openers = { ...CONTENDERS, ...OTHER_CLIENTS, registry: openRegistryCalls };

/**
 * Opens operations on one server, each contender on a client of its own.
 *
 * @param options `client`: package of the clients that are no node-redis; `db`; `prefix`: beginning of all ids, different in each
 *   process; `tree`: checkout whose build of luanest is opened; `contenders`: names
 * @returns `operations`: callers by contender, by operation; `stock`: functions that fill what users grab from, by contender; `close`
 */
export async function openOperations(port, options = {}) {
  const { client = 'ioredis', db = 0, prefix = 'id', tree = HERE, contenders = ON_IOREDIS } = options;
  const opened = treeOf(tree);
  const closers = [];
  const ioredis = (name = client) => {
    const { Redis } = opened.load(name);
    const redis = new Redis(port, '127.0.0.1', { db });
    closers.push(() => redis.disconnect());
    return redis;
  };
  const nodeRedis = async () => {
    const redis = await connectNodeRedis(port, db);
    closers.push(() => redis.destroy());
    return redis;
  };
  const [operations, stock] = [{}, {}];
  for (const name of contenders) {
    const contender = await openers[name]({ ioredis, nodeRedis, id: (i) => `${prefix}-${i}`, tree: opened });
    for (const [operation, call] of Object.entries(contender.calls)) (operations[operation] ??= {})[name] = call;
    if (contender.stock) stock[name] = contender.stock;
    if (contender.close) closers.unshift(contender.close);
  }
  const close = async () => {
    for (const end of closers) await end();
  };
  return { operations, stock, close };
}
