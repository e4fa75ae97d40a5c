// registry.run, with its checks and deadlines, compared with plain EVALSHA on a client of the same kind: same script, same
// calls, same order of keys. The second peer is a client with autopipelining, the nearest that ioredis itself offers.
import { createRequire } from 'node:module';
import { measure, rounds, row, startDelayProxy, startRedis } from './harness.mjs';

const require = createRequire(import.meta.url);
const { Redis } = require('ioredis');
const {
  ScriptRegistryModule,
  ScriptRegistry,
  defineScript,
  int,
  str,
} = require('../dist/libs/script-registry/src/index.js');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');

const ROUNDS = 7;
const KEYS = 10_000;

const counting = {
  keys: ['counter'],
  args: { limit: int, windowMs: int, cost: int },
  reply: ([allowed, used, resetMs]) => ({ allowed: allowed === 1, used, resetMs }),
};

/** The classic: INCR and an expiry in one script. */
const limiter = defineScript({
  ...counting,
  name: 'bench.limiter',
  source: `
local used = redis.call('INCRBY', KEYS[1], ARGV[3])
local window_ms = tonumber(ARGV[2])
if used == tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], window_ms) end
return { used <= tonumber(ARGV[1]) and 1 or 0, used, window_ms }`,
});

/** A heavier one: refusals are not counted, a lost TTL is healed, and the reset is exact. */
const window = defineScript({
  ...counting,
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

async function openRegistry(client) {
  class App {}
  Module({
    imports: [
      ScriptRegistryModule.forRoot({ client, preload: 'required' }),
      ScriptRegistryModule.forFeature([limiter, window, grab]),
    ],
  })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  return { registry: app.get(ScriptRegistry), close: () => app.close() };
}

/** The three contenders on one server; `limits` gives the limit of the i-th call. */
async function open(port) {
  const [admin, client, plain, auto] = [{}, {}, {}, { enableAutoPipelining: true }].map(
    (options) => new Redis(port, '127.0.0.1', options),
  );
  const { registry, close } = await openRegistry(client);
  const load = (script) => admin.script('LOAD', `#!lua\n${script.source}`);
  const shas = { limiter: await load(limiter), window: await load(window), grab: await load(grab) };
  const viaEvalsha = (redis) => ({
    count: async (script, i, limit) => {
      const sha = script === limiter ? shas.limiter : shas.window;
      return script.reply(await redis.evalsha(sha, 1, `counter:${i % KEYS}`, limit, 3_600_000, 1));
    },
    grab: async (i) =>
      grab.reply(await redis.evalsha(shas.grab, 3, '{a}:grants', '{a}:pool', '{a}:outbox', `user-${i}`)),
  });
  const grabKeys = { grants: '{a}:grants', pool: '{a}:pool', outbox: '{a}:outbox' };
  return {
    admin,
    callers: {
      luanest: {
        count: (script, i, limit) =>
          registry.run(script, {
            keys: { counter: `counter:${i % KEYS}` },
            args: { limit, windowMs: 3_600_000, cost: 1 },
          }),
        grab: (i) => registry.run(grab, { keys: grabKeys, args: { userId: `user-${i}` } }),
      },
      evalsha: viaEvalsha(plain),
      autopipelining: viaEvalsha(auto),
    },
    close: async () => {
      await close();
      for (const redis of [admin, client, plain, auto]) redis.disconnect();
    },
  };
}

async function fillPool(admin, packets) {
  for (let from = 0; from < packets; from += 10_000) {
    await admin.rpush('{a}:pool', ...Array.from({ length: 10_000 }, (_, i) => `${from + i}:100`));
  }
}

export async function run(print) {
  const server = await startRedis();
  const here = await open(server.port);
  const rows = [];
  const add = (added) => {
    rows.push(added);
    const ratios = Object.entries(added.ratio).map(([peer, ratio]) => `${ratio.toFixed(2)} x ${peer}`);
    print(`${added.case}: ${added.luanest} ${added.unit} (${ratios.join(', ')})`);
  };
  const compete = async ({ callers, admin }, calls, inFlight, call, prepare = async () => {}, count = ROUNDS) => {
    const contenders = Object.fromEntries(
      Object.entries(callers).map(([name, caller]) => [name, () => measure((i) => call(caller, i), calls, inFlight)]),
    );
    return rounds(count, contenders, async () => {
      await admin.flushall();
      await prepare(admin);
    });
  };
  const both = (name, figures) => {
    add(row(name, 'calls/s', figures, (figure) => figure.perSecond, false));
    add(row(`${name}-cpu`, 'µs Node CPU/call', figures, (figure) => figure.cpuMicros, true));
  };
  const constant = (caller, i) => caller.count(limiter, i, 20);

  // Not measured, because the compiler optimises the code during the first calls.
  await compete(here, 100_000, 512, constant, undefined, 1);
  await compete(
    here,
    50_000,
    512,
    (caller, i) => caller.grab(i),
    (admin) => fillPool(admin, 50_000),
    1,
  );

  // 400,000 calls on 10,000 counters with limit 20: half are allowed and half refused, on every side alike.
  both('limiter-512', await compete(here, 400_000, 512, constant));
  // Arguments that differ from call to call, so that a group cannot send them once for all.
  both('limiter-512-varied', await compete(here, 400_000, 512, (caller, i) => caller.count(limiter, i, 20 + (i % 7))));
  both('window-512', await compete(here, 400_000, 512, (caller, i) => caller.count(window, i, 20)));
  both(
    'grab-512',
    await compete(
      here,
      200_000,
      512,
      (caller, i) => caller.grab(i),
      (admin) => fillPool(admin, 200_000),
    ),
  );
  add(
    row(
      'limiter-1',
      'calls/s',
      await compete(here, 10_000, 1, constant, undefined, 3 * ROUNDS),
      (figure) => figure.perSecond,
      false,
    ),
  );
  await here.close();

  const proxy = await startDelayProxy(server.port, 1);
  const far = await open(proxy.port);
  await compete(far, 100_000, 2_000, constant, undefined, 1);
  const delayed = await compete(far, 300_000, 2_000, constant);
  add(row('limiter-2000-delay', 'calls/s', delayed, (figure) => figure.perSecond, false));
  await far.close();
  proxy.stop();
  server.stop();
  return rows;
}
