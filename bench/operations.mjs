// The calls that the benches lone and fleet make: each operation of luanest, of the library that a Nest app would use instead,
// and of the smallest script of the same job, sent by EVALSHA.
import { randomUUID } from 'node:crypto';
import { subscribe } from 'node:diagnostics_channel';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { RateLimiterRedis, RateLimiterUnion } = require('rate-limiter-flexible');
const { default: Redlock } = await import('redlock');
const lib = (name) => require(`../dist/libs/${name}/src/index.js`);
const { ScriptRegistryModule } = lib('script-registry');
const { RATE_LIMIT_CHANNELS, RateLimitModule, RateLimitService } = lib('rate-limit');
const { OnceModule, OnceService } = lib('once');
const { ReadRewardModule, ReadRewardService } = lib('read-reward');
const { LockModule, LockService } = lib('lock');
const { RedPacketModule, RedPacketService } = lib('red-packet');
const { DelayedTaskModule, DelayedTaskService } = lib('delayed-task');
const { StreamConsumerModule, StreamConsumerService } = lib('stream-consumer');

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

async function openLuanest(client) {
  class App {}
  Module({
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
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  // A decision that was made without Redis is not compared.
  subscribe(RATE_LIMIT_CHANNELS.redisFailed, ({ error }) => {
    throw new Error(`Redis did not decide: ${error.message}`);
  });
  return app;
}

const payload = (i) => ({ order: `order-${i}`, amountCents: i });

function won(outcome, expected) {
  if (outcome !== expected) throw new Error(`A grab was answered ${JSON.stringify(outcome)}.`);
}

/** The calls of luanest; each gets a number that no earlier call had. */
function luanestCalls(app, id) {
  const [limits, once, rewards, locks, packets, tasks, streams] = [
    RateLimitService,
    OnceService,
    ReadRewardService,
    LockService,
    RedPacketService,
    DelayedTaskService,
    StreamConsumerService,
  ].map((token) => app.get(token));
  const rules = [1, 2, 3].map((n) => ({ name: `rule-${n}`, limit: LIMIT, windowMs: HOUR_MS }));
  return {
    limit: (i) => limits.consume(rules[0], id(i % SUBJECTS)),
    'limit-3': (i) => limits.consume(rules.map((rule) => ({ rule, subject: id(i % SUBJECTS) }))),
    first: (i) => once.first(id(i >> 1), { retentionMs: 20_000 }),
    'once-run': (i) => once.run(id(i), {}, () => undefined),
    record: (i) => rewards.record({ rule: 'read', userId: id(Math.floor(i / 5)), itemId: ITEMS[i % 5] }),
    'lock-pair': async (i) => (await locks.acquire(id(i % SUBJECTS), { leaseMs: LEASE_MS })).release(),
    grab: async (i, activity) => won((await packets.grab(activity, id(i))).outcome, 'won'),
    schedule: (i) => tasks.schedule('order', payload(i), { delayMs: HOUR_MS }),
    publish: (i) => streams.publish('orders', payload(i)),
  };
}

/** Of five reads of a user one is a repeat, and none is too many: a service that knows a full user asks Redis no more. */
const ITEMS = ['article-1', 'article-2', 'article-3', 'article-1', 'article-4'];

async function plainCalls(client, id) {
  const shas = {};
  for (const [name, source] of Object.entries(SCRIPTS)) shas[name] = await client.script('LOAD', source);
  const send = (name, keys, ...args) => client.evalsha(shas[name], keys.length, ...keys, ...args);
  return {
    limit: (i) => send('limit', [`limit:${id(i % SUBJECTS)}`], LIMIT, HOUR_MS / 1_000),
    'limit-3': (i) => {
      const keys = [1, 2, 3].map((n) => `limit:{${id(i % SUBJECTS)}}:${n}`);
      return send('limit3', keys, LIMIT, HOUR_MS / 1_000);
    },
    first: (i) => send('first', [`first:${id(i >> 1)}`], 20),
    'once-run': async (i) => {
      await send('claim', [`run:${id(i)}`], randomUUID(), LEASE_MS);
      return send('confirm', [`run:${id(i)}`], 'done', 24 * HOUR_MS);
    },
    record: (i) => send('record', [`read:${id(Math.floor(i / 5))}`], ITEMS[i % 5], REWARDS),
    'lock-pair': async (i) => {
      const token = randomUUID();
      await send('acquire', [`lock:${id(i % SUBJECTS)}`], token, LEASE_MS);
      return send('release', [`lock:${id(i % SUBJECTS)}`], token);
    },
    grab: async (i) => won(JSON.parse(await send('grab', ['{a}:users', '{a}:pool', '{a}:payouts'], id(i))).code, '0'),
    schedule: (i) =>
      send('schedule', ['{t}:due', '{t}:tasks'], randomUUID(), Date.now() + HOUR_MS, JSON.stringify(payload(i))),
    publish: (i) => send('publish', ['stream:orders'], JSON.stringify(payload(i))),
  };
}

function peerCalls(client, id) {
  const limiters = [1, 2, 3].map(
    (n) =>
      new RateLimiterRedis({ storeClient: client, keyPrefix: `rule-${n}`, points: LIMIT, duration: HOUR_MS / 1_000 }),
  );
  const union = new RateLimiterUnion(...limiters);
  const redlock = new Redlock([client], { retryCount: 0 });
  return {
    limit: ['rate-limiter-flexible', (i) => limiters[0].consume(id(i % SUBJECTS))],
    'limit-3': ['rate-limiter-flexible', (i) => union.consume(id(i % SUBJECTS))],
    'lock-pair': ['redlock', async (i) => (await redlock.acquire([id(i % SUBJECTS)], LEASE_MS)).release()],
  };
}

/**
 * Opens all operations on one server, each contender on a client of its own.
 *
 * @param Redis class of the clients
 * @param prefix beginning of all ids, different in each process
 * @returns `operations`: callers by contender, by operation; `stock`: functions that fill what users grab from, by contender; `close`
 */
export async function openOperations(Redis, port, prefix = 'id') {
  const [own, plain, peer] = [1, 2, 3].map(() => new Redis(port, '127.0.0.1'));
  const id = (i) => `${prefix}-${i}`;
  const app = await openLuanest(own);
  const [ours, scripts, peers] = [luanestCalls(app, id), await plainCalls(plain, id), peerCalls(peer, id)];
  const operations = {};
  for (const [name, luanest] of Object.entries(ours)) {
    const [library, call] = peers[name] ?? [];
    operations[name] = { luanest, ...(library && { [library]: call }), plain: scripts[name] };
  }
  return {
    operations,
    stock: {
      luanest: (activityId, packets) =>
        app.get(RedPacketService).create({ activityId, totalCents: packets * 100, packets }),
      plain: async (_, packets) => {
        for (let from = 0; from < packets; from += 10_000) {
          const chunk = Array.from({ length: 10_000 }, (_, i) => ({ redPacketId: String(from + i), amount: '1.00' }));
          await plain.rpush('{a}:pool', ...chunk.map((packet) => JSON.stringify(packet)));
        }
      },
    },
    close: async () => {
      await app.close();
      for (const client of [own, plain, peer]) client.disconnect();
    },
  };
}
