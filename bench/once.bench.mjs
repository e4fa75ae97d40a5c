// OnceService.first compared with the classic deduplication script, one EVALSHA a call; an idempotent route compared with one of
// @node-idempotency/nestjs where that runs, and compared with a claim and a confirm by hand.
import { createRequire } from 'node:module';
import { measure, measureRoute, requestsPerSecond, rounds, row, startRedis, startServer } from './harness.mjs';

const require = createRequire(import.meta.url);
const { Redis } = require('ioredis');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { ScriptRegistryModule } = require('../dist/libs/script-registry/src/index.js');
const { OnceModule, OnceService } = require('../dist/libs/once/src/index.js');

const ROUNDS = 7;
const HTTP_ROUNDS = 5;
const HTTP_SECONDS = 3;
/** Warm-up that the optimising compiler needs until times are stable. */
const HTTP_WARM_UP_SECONDS = 6;

/** The script that this kind of worker usually has: 0 for the first, 1 for the others, seconds to live. */
const SEED =
  "if redis.call('get', KEYS[1]) == false then redis.call('set', KEYS[1], ARGV[1]) " +
  "redis.call('expire', KEYS[1], ARGV[2]) return 0 else return 1 end";

async function openOnce(client) {
  class App {}
  Module({ imports: [ScriptRegistryModule.forRoot({ client, preload: 'required' }), OnceModule.forRoot()] })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  return { once: app.get(OnceService), close: () => app.close() };
}

async function benchFirst(port, add) {
  const [admin, client, plain] = [0, 1, 2].map(() => new Redis(port));
  const { once, close } = await openOnce(client);
  const sha = await admin.script('LOAD', SEED);
  const terms = { retentionMs: 20_000 };
  const callers = {
    luanest: (i) => once.first(`message-${i >> 1}`, terms),
    'seed-evalsha': async (i) => (await plain.evalsha(sha, 1, `msg_pushed_message-${i >> 1}`, '1', 20)) === 0,
  };
  const compete = (calls, inFlight, count) =>
    rounds(
      count,
      Object.fromEntries(Object.entries(callers).map(([name, call]) => [name, () => measure(call, calls, inFlight)])),
      () => admin.flushall(),
    );
  await compete(50_000, 512, 1);
  const many = await compete(200_000, 512, ROUNDS);
  add(row('first-512', 'calls/s', many, (figure) => figure.perSecond, false));
  add(row('first-512-cpu', 'µs Node CPU/call', many, (figure) => figure.cpuMicros, true));
  add(row('first-1', 'calls/s', await compete(10_000, 1, 3 * ROUNDS), (figure) => figure.perSecond, false));
  await close();
  for (const redis of [admin, client, plain]) redis.disconnect();
}

let keys = 0;
const order = (seconds) => ({
  seconds,
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"sku":1}',
  headersOf: () => ({ 'idempotency-key': `key-${(keys += 1)}` }),
});

/** Returns true if a repeat gets the stored response. A route that stores none is not compared. */
async function checkReplay(url) {
  const post = () => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'asked-twice' };
    return globalThis.fetch(url, { method: 'POST', headers, body: '{"sku":1}' });
  };
  const [first, again] = [await post(), await post()];
  const marked = ['idempotency-replayed', 'idempotent-replayed'].map((name) => again.headers.has(name));
  if (marked.join() === 'false,false' || (await first.text()) !== (await again.text())) {
    throw new Error('it does not answer a repeat from its store');
  }
}

async function benchHttp(server, add, print) {
  const admin = new Redis(server.port);
  const apps = {};
  for (const guard of ['luanest', 'node-idempotency', 'two-evalsha']) {
    try {
      const app = await startServer('once.server.mjs', ['--guard', guard, '--redis', String(server.port)]);
      const url = `http://127.0.0.1:${app.port}/orders`;
      await checkReplay(url);
      await requestsPerSecond(url, order(HTTP_WARM_UP_SECONDS));
      apps[guard] = app;
    } catch (error) {
      if (guard === 'luanest') throw error;
      print(`${guard} does not run here: ${error.message}`);
    }
    await admin.flushdb();
  }
  const contenders = Object.fromEntries(
    Object.entries(apps).map(([guard, { port }]) => [guard, () => measureRoute(port, '/orders', order(HTTP_SECONDS))]),
  );
  const figures = await rounds(HTTP_ROUNDS, contenders, () => admin.flushdb());
  add(row('http-64', 'requests/s', figures, (figure) => figure.perSecond, false));
  add(row('http-64-cpu', 'µs CPU of the app/request', figures, (figure) => figure.cpuMicros, true));
  for (const app of Object.values(apps)) app.stop();
  admin.disconnect();
}

export async function run(print) {
  const server = await startRedis();
  const rows = [];
  const add = (added) => {
    rows.push(added);
    const ratios = Object.entries(added.ratio).map(([peer, ratio]) => `${ratio.toFixed(2)} x ${peer}`);
    print(`${added.case}: ${added.luanest} ${added.unit} (${ratios.join(', ')})`);
  };
  // First, while this process, which also makes the requests, has a small heap.
  await benchHttp(server, add, print);
  await benchFirst(server.port, add);
  server.stop();
  return rows;
}
