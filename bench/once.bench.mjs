// OnceService.first beside the classic deduplication script, one EVALSHA a call; an idempotent route beside one of
// @node-idempotency/nestjs where that runs, and beside a claim and a confirm by hand.
import { createRequire } from 'node:module';
import { measure, rounds, row, startRedis } from './harness.mjs';

const require = createRequire(import.meta.url);
const { Redis } = require('ioredis');
const { Module, Controller, Post, UseInterceptors } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { FastifyAdapter } = require('@nestjs/platform-fastify');
const { from } = require('rxjs');
const { ScriptRegistryModule } = require('../dist/libs/script-registry/src/index.js');
const { OnceModule, OnceService, Idempotent } = require('../dist/libs/once/src/index.js');
const autocannon = require('autocannon');

const ROUNDS = 7;
const HTTP_ROUNDS = 5;
const HTTP_SECONDS = 3;

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

/** A Nest app on Fastify with one POST route; `decorate` protects it. */
async function serve(decorate, imports) {
  class Orders {
    create() {
      return { orderId: '1', status: 'created' };
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Orders.prototype, 'create');
  Post()(Orders.prototype, 'create', descriptor);
  decorate(Orders.prototype, 'create', descriptor);
  Controller('orders')(Orders);
  class App {}
  Module({ imports, controllers: [Orders] })(App);
  const app = await NestFactory.create(App, new FastifyAdapter(), { logger: false, abortOnError: false });
  await app.listen(0, '127.0.0.1');
  return { url: `${await app.getUrl()}/orders`, close: () => app.close() };
}

const CLAIM =
  "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return redis.call('get', KEYS[1])";
const CONFIRM = "redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1";

/** What one would write by hand: an interceptor that claims and confirms with one EVALSHA each. */
async function byHand(port) {
  const redis = new Redis(port);
  const [claim, confirm] = [await redis.script('LOAD', CLAIM), await redis.script('LOAD', CONFIRM)];
  const { mergeMap } = require('rxjs');
  const interceptor = {
    async intercept(context, next) {
      const key = `hand:${context.switchToHttp().getRequest().headers['idempotency-key']}`;
      const answer = await redis.evalsha(claim, 1, key, 'in-progress', 30_000);
      if (answer !== 1) return from([JSON.parse(answer)]);
      return next.handle().pipe(
        mergeMap(async (body) => {
          await redis.evalsha(confirm, 1, key, JSON.stringify(body), 86_400_000);
          return body;
        }),
      );
    },
  };
  const app = await serve(UseInterceptors(interceptor), []);
  return { ...app, redis };
}

async function nodeIdempotency(port, print) {
  try {
    const { NodeIdempotencyModule, Idempotent: PeerIdempotent } = require('@node-idempotency/nestjs');
    const imports = [
      NodeIdempotencyModule.forRootAsync({
        storage: { adapter: 'redis', options: { url: `redis://127.0.0.1:${port}` } },
      }),
    ];
    return await serve(PeerIdempotent(), imports);
  } catch (error) {
    print(`@node-idempotency/nestjs does not run here: ${String(error.message ?? error).split('\n')[0]}`);
    return undefined;
  }
}

let requests = 0;
async function hammer(url) {
  const result = await autocannon({
    url,
    connections: 64,
    duration: HTTP_SECONDS,
    requests: [
      {
        method: 'POST',
        setupRequest: (request) => ({
          ...request,
          headers: { 'content-type': 'application/json', 'idempotency-key': `key-${(requests += 1)}` },
          body: '{"sku":1}',
        }),
      },
    ],
  });
  if (result.non2xx > 0) throw new Error(`${url}: ${result.non2xx} answers were no success.`);
  return { perSecond: result.requests.total / result.duration, cpuMicros: 0 };
}

async function benchHttp(port, add, print) {
  const client = new Redis(port);
  const imports = [
    ScriptRegistryModule.forRoot({ client, preload: 'required' }),
    OnceModule.forRoot({ idempotency: { subject: () => 'anybody' } }),
  ];
  const hand = await byHand(port);
  const apps = {
    luanest: await serve(Idempotent(), imports),
    'node-idempotency': await nodeIdempotency(port, print),
    'two-evalsha': hand,
  };
  const contenders = {};
  for (const [name, app] of Object.entries(apps)) {
    if (app === undefined) continue;
    try {
      await hammer(app.url);
      contenders[name] = () => hammer(app.url);
    } catch (error) {
      print(`${name} does not work here: ${error.message}`);
    }
  }
  const figures = await rounds(HTTP_ROUNDS, contenders, () => client.flushdb());
  add(row('http-64', 'requests/s', figures, (figure) => figure.perSecond, false));
  await apps.luanest.close();
  await hand.close();
  hand.redis.disconnect();
  client.disconnect();
}

export async function run(print) {
  const server = await startRedis();
  const rows = [];
  const add = (added) => {
    rows.push(added);
    const ratios = Object.entries(added.ratio).map(([peer, ratio]) => `${ratio.toFixed(2)} x ${peer}`);
    print(`${added.case}: ${added.luanest} ${added.unit} (${ratios.join(', ')})`);
  };
  await benchFirst(server.port, add);
  await benchHttp(server.port, add, print);
  server.stop();
  return rows;
}
