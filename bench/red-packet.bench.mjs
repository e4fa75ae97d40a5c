// RedPacketService.grab compared with its own script and compared with the classic one, each sent as one EVALSHA a call on a client of
// the same kind; losers of a sold-out activity; and a grab over HTTP compared with a route that does nothing.
import { createRequire } from 'node:module';
import { measure, requestsPerSecond, rounds, row, startRedis, startServer } from './harness.mjs';

const require = createRequire(import.meta.url);
const { Redis } = require('ioredis');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { KeySpace, ScriptRegistryModule } = require('../dist/libs/script-registry/src/index.js');
const { RedPacketModule, RedPacketService } = require('../dist/libs/red-packet/src/index.js');

const { grabPacket } = require('../dist/libs/red-packet/src/grabs/grab.scripts.js');
const { Layouts } = require('../dist/libs/red-packet/src/buckets/layout.js');

const ROUNDS = 7;
const HTTP_ROUNDS = 5;
const HTTP_SECONDS = 3;
const HTTP_WARM_UP_SECONDS = 5;
const GRABS = 200_000;

/** The usual simple version: a set of users, a list of packets as JSON, a list of payouts; no state, clock or TTL. */
const SEED = `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return cjson.encode({ code = '1' }) end
local raw = redis.call('RPOP', KEYS[2])
if not raw then return cjson.encode({ code = '-1' }) end
local packet = cjson.decode(raw)
packet['userId'] = ARGV[1]
redis.call('HSET', KEYS[1], ARGV[1], packet['redPacketId'])
redis.call('LPUSH', KEYS[3], cjson.encode(packet))
return cjson.encode({ code = '0', amount = packet['amount'], redPacketId = packet['redPacketId'] })`;

async function open(port) {
  const [admin, client, own, seed] = [1, 2, 3, 4].map(() => new Redis(port, '127.0.0.1'));
  class App {}
  Module({
    imports: [
      ScriptRegistryModule.forRoot({ client, preload: 'required' }),
      RedPacketModule.forRoot({ identity: () => undefined, controller: false }),
    ],
  })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  const packets = app.get(RedPacketService);
  const shas = {
    own: await admin.script('LOAD', `#!lua\n${grabPacket.source}`),
    seed: await admin.script('LOAD', SEED),
  };
  let activity = '';
  const layouts = new Layouts(new KeySpace('luanest', 'red-packet'), 16);
  const keys = () => grabPacket.keys.map((name) => layouts.root(activity).buckets[0][name]);
  const sum = (activityId) => ({ activityId, totalCents: GRABS * 100, packets: GRABS });
  let turn = 0;
  return {
    admin,
    packets,
    callers: {
      luanest: (user) => packets.grab(activity, user),
      evalsha: async (user) => {
        return grabPacket.reply(await own.evalsha(shas.own, 5, ...keys(), user, 0));
      },
      seed: async (user) => JSON.parse(await seed.evalsha(shas.seed, 3, '{a}:users', '{a}:pool', '{a}:payouts', user)),
    },
    /** A new activity each time, since a process remembers those that are sold out. */
    async prepare(contender, count = GRABS) {
      await admin.flushall();
      activity = `rain-${(turn += 1)}`;
      if (contender !== 'seed') return packets.create({ ...sum(activity), packets: count });
      for (let from = 0; from < count; from += 10_000) {
        const chunk = Array.from({ length: 10_000 }, (_, i) => ({ redPacketId: String(from + i), amount: '1.00' }));
        await admin.rpush('{a}:pool', ...chunk.map((packet) => JSON.stringify(packet)));
      }
      return undefined;
    },
    close: async () => {
      await app.close();
      for (const redis of [admin, client, own, seed]) redis.disconnect();
    },
  };
}

/** Contenders that each make the same calls; `check` sees the first answer of each. */
function contenders({ callers }, names, calls, userOf) {
  return Object.fromEntries(names.map((name) => [name, () => measure((i) => callers[name](userOf(i)), calls, 512)]));
}

async function benchGrabs(bench, add) {
  const names = ['luanest', 'evalsha', 'seed'];
  const winners = contenders(bench, names, GRABS, (i) => `user-${i}`);
  // Not measured, because the compiler optimises the code during the first calls.
  await rounds(1, winners, bench.prepare);
  const figures = await rounds(ROUNDS, winners, bench.prepare);
  const { seed, ...own } = figures;
  add(row('grab-512', 'grabs/s', own, (figure) => figure.perSecond, false));
  add(row('grab-512-seed', 'grabs/s', { luanest: figures.luanest, seed }, (figure) => figure.perSecond, false));
  add(row('grab-512-cpu', 'µs Node CPU/grab', figures, (figure) => figure.cpuMicros, true));
}

async function benchLosers(bench, add) {
  const losers = contenders(bench, ['luanest', 'evalsha'], GRABS, (i) => `loser-${i}`);
  const prepare = async (contender) => {
    await bench.prepare(contender, 10_000);
    await Promise.all(Array.from({ length: 10_000 }, (_, i) => bench.callers.luanest(`winner-${i}`)));
    const late = await bench.callers.luanest('late');
    if (late.status !== 'sold-out') throw new Error(`A loser was answered ${late.status}.`);
  };
  await rounds(1, losers, prepare);
  const figures = await rounds(ROUNDS, losers, prepare);
  add(row('grab-soldout-512', 'grabs/s', figures, (figure) => figure.perSecond, false));
}

async function benchHttp(server, bench, add) {
  const app = await startServer('red-packet.server.mjs', ['--redis', String(server.port)]);
  const url = `http://127.0.0.1:${app.port}`;
  let user = 0;
  const options = (seconds) => ({ seconds, method: 'POST', headersOf: () => ({ 'x-user': `user-${(user += 1)}` }) });
  const create = async () => {
    await bench.admin.flushall();
    await bench.packets.create({ activityId: 'http', totalCents: 100_000_000, packets: 1_000_000 });
  };
  await create();
  for (const path of ['/red-packets/http/grab', '/empty']) {
    await requestsPerSecond(`${url}${path}`, options(HTTP_WARM_UP_SECONDS));
  }
  const each = (path) => async () => ({
    perSecond: await requestsPerSecond(`${url}${path}`, options(HTTP_SECONDS)),
    cpuMicros: 0,
  });
  const figures = await rounds(
    HTTP_ROUNDS,
    { luanest: each('/red-packets/http/grab'), 'empty-route': each('/empty') },
    (name) => (name === 'luanest' ? create() : undefined),
  );
  add(row('fastify-64', 'requests/s', figures, (figure) => figure.perSecond, false));
  app.stop();
}

export async function run(print) {
  const server = await startRedis();
  const rows = [];
  const add = (added) => {
    rows.push(added);
    const ratios = Object.entries(added.ratio).map(([peer, ratio]) => `${ratio.toFixed(2)} x ${peer}`);
    print(`${added.case}: ${added.luanest} ${added.unit} (${ratios.join(', ')})`);
  };
  const bench = await open(server.port);
  await benchGrabs(bench, add);
  await benchLosers(bench, add);
  await benchHttp(server, bench, add);
  await bench.close();
  server.stop();
  return rows;
}
