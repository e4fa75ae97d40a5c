// RateLimitService compared with the limiters that a Nest app would use instead, with the same limit, window and clients. Then
// the guard compared with throttler's guard on the same route.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createRequire } from 'node:module';
import {
  connectNodeRedis,
  measure,
  measureRoute,
  rounds,
  row,
  startCluster,
  startRedis,
  startServer,
} from './harness.mjs';

const require = createRequire(import.meta.url);
const { Cluster, Redis } = require('ioredis');
const { RateLimiterRedis } = require('rate-limiter-flexible');
const { ThrottlerStorageRedisService } = require('@nest-lab/throttler-storage-redis');
const { RedisThrottlerStorage } = require('@nestjs-redis/throttler-storage');
const { ScriptRegistryModule } = require('../dist/libs/script-registry/src/index.js');
const { RateLimitEvents, RateLimitModule, RateLimitService } = require('../dist/libs/rate-limit/src/index.js');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');

const ROUNDS = 7;
const HTTP_ROUNDS = 12;
const SUBJECTS = 10_000;
const LIMIT = 1_000_000;
const WINDOW_MS = 3_600_000;
/** Deadline of a call, ms. It is long, because the peers have no deadline, and a machine may stall. */
const DEADLINE_MS = 10_000;

async function openService(client) {
  class App {}
  Module({
    imports: [
      ScriptRegistryModule.forRoot({ client, preload: 'required' }),
      RateLimitModule.forRoot({ deadlineMs: DEADLINE_MS }),
    ],
  })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  const service = app.get(RateLimitService);
  const rule = { name: 'bench', limit: LIMIT, windowMs: WINDOW_MS };
  const consume = (i) => service.consume(rule, `user-${i % SUBJECTS}`);
  // Decisions without Redis are not compared; each decision reports that.
  const refuse = ({ error }) => {
    throw new Error(`Redis did not decide: ${error.message}`);
  };
  subscribe(RateLimitEvents.redisFailed, refuse);
  return { consume, close: () => (unsubscribe(RateLimitEvents.redisFailed, refuse), app.close()) };
}

function flexible(storeClient) {
  const limiter = new RateLimiterRedis({ storeClient, points: LIMIT, duration: WINDOW_MS / 1_000 });
  return (i) => limiter.consume(`user-${i % SUBJECTS}`);
}

function storage(storage) {
  return (i) => storage.increment(`user-${i % SUBJECTS}`, WINDOW_MS, LIMIT, 0, 'bench');
}

async function benchService(add) {
  const server = await startRedis();
  const clients = Array.from({ length: 4 }, () => new Redis(server.port, '127.0.0.1'));
  const [admin, own, first, second] = clients;
  const nodeRedis = await connectNodeRedis(server.port);
  const service = await openService(own);
  const callers = {
    luanest: service.consume,
    'rate-limiter-flexible': flexible(first),
    '@nest-lab/throttler-storage-redis': storage(new ThrottlerStorageRedisService(second)),
    '@nestjs-redis/throttler-storage': storage(new RedisThrottlerStorage(nodeRedis)),
  };
  const compete = (calls, inFlight, count) =>
    rounds(
      count,
      Object.fromEntries(Object.entries(callers).map(([name, call]) => [name, () => measure(call, calls, inFlight)])),
      () => admin.flushall(),
    );
  await compete(50_000, 512, 1);
  const figures = await compete(150_000, 512, ROUNDS);
  add(row('consume-512', 'calls/s', figures, (figure) => figure.perSecond, false));
  add(row('consume-512-cpu', 'µs Node CPU/call', figures, (figure) => figure.cpuMicros, true));
  add(row('consume-1', 'calls/s', await compete(5_000, 1, 3 * ROUNDS), (figure) => figure.perSecond, false));
  await service.close();
  await nodeRedis.close();
  for (const client of clients) client.disconnect();
  server.stop();
}

async function benchCluster(add) {
  const cluster = await startCluster();
  const nodes = cluster.ports.map((port) => ({ host: '127.0.0.1', port }));
  const [own, other] = [new Cluster(nodes), new Cluster(nodes)];
  const service = await openService(own);
  const callers = { luanest: service.consume, 'rate-limiter-flexible': flexible(other) };
  const contenders = Object.fromEntries(
    Object.entries(callers).map(([name, call]) => [name, () => measure(call, 100_000, 512)]),
  );
  await rounds(1, contenders, async () => {});
  const figures = await rounds(ROUNDS, contenders, async () => {
    await Promise.all(other.nodes('master').map((node) => node.flushall()));
  });
  add(row('consume-512-cluster', 'calls/s', figures, (figure) => figure.perSecond, false));
  await service.close();
  own.disconnect();
  other.disconnect();
  cluster.stop();
}

const ROUTES = {
  'fastify none': ['fastify', 'none', 1],
  'fastify luanest': ['fastify', 'luanest', 1],
  'fastify throttler': ['fastify', 'throttler', 1],
  'fastify luanest x3': ['fastify', 'luanest', 3],
  'fastify throttler x3': ['fastify', 'throttler', 3],
  'express luanest': ['express', 'luanest', 1],
  'express throttler': ['express', 'throttler', 1],
};

async function benchRoutes(add) {
  const server = await startRedis();
  const apps = {};
  for (const [name, [platform, guard, rules]] of Object.entries(ROUTES)) {
    const args = ['--platform', platform, '--guard', guard, '--rules', String(rules), '--redis', String(server.port)];
    apps[name] = await startServer('rate-limit.server.mjs', args);
  }
  const contenders = (seconds) =>
    Object.fromEntries(
      Object.entries(apps).map(([name, { port }]) => [name, () => measureRoute(port, '/', { seconds })]),
    );
  await rounds(1, contenders(2), async () => {});
  const figures = await rounds(HTTP_ROUNDS, contenders(3), async () => {});
  const route = (name, ours, peers) => {
    const picked = Object.fromEntries(Object.entries(peers).map(([peer, app]) => [peer, figures[app]]));
    add(row(name, 'requests/s', { luanest: figures[ours], ...picked }, (figure) => figure.perSecond, false));
  };
  const noGuard = { luanest: figures['fastify luanest'], 'no guard': figures['fastify none'] };
  add(row('fastify-route-cpu', 'µs CPU of the app/request', noGuard, (figure) => figure.cpuMicros, true));
  const throttler = 'throttler with nest-lab';
  route('fastify-64', 'fastify luanest', { [throttler]: 'fastify throttler' });
  route('fastify-64-unguarded', 'fastify luanest', { 'no guard': 'fastify none' });
  route('fastify-64-three-rules', 'fastify luanest x3', { [throttler]: 'fastify throttler x3' });
  route('express-64', 'express luanest', { [throttler]: 'express throttler' });
  for (const app of Object.values(apps)) app.stop();
  server.stop();
}

export async function run(print) {
  const rows = [];
  const add = (added) => {
    rows.push(added);
    const ratios = Object.entries(added.ratio).map(([peer, ratio]) => `${ratio.toFixed(2)} x ${peer}`);
    print(`${added.case}: ${added.luanest} ${added.unit} (${ratios.join(', ')})`);
  };
  // Routes first: a load generator in a process that has run the other cases takes more of the two cores.
  await benchRoutes(add);
  await benchService(add);
  await benchCluster(add);
  return rows;
}
