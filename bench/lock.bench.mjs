// Acquire and release of distinct names compared with redlock and redis-semaphore, each on a client of its own.
import { createRequire } from 'node:module';
import { measure, rounds, row, startRedis } from './harness.mjs';

const require = createRequire(import.meta.url);
const { Redis } = require('ioredis');
const { ScriptRegistryModule } = require('../dist/libs/script-registry/src/index.js');
const { LockModule, LockService } = require('../dist/libs/lock/src/index.js');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { default: Redlock } = await import('redlock');
const { Mutex } = await import('redis-semaphore');

const ROUNDS = 7;
const LEASE_MS = 30_000;

async function openLuanest(client) {
  class App {}
  Module({ imports: [ScriptRegistryModule.forRoot({ client, preload: 'required' }), LockModule.forRoot({})] })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  return { locks: app.get(LockService), close: () => app.close() };
}

export async function run(print) {
  const server = await startRedis();
  const [admin, ours, forRedlock, forSemaphore] = [1, 2, 3, 4].map(() => new Redis(server.port, '127.0.0.1'));
  const { locks, close } = await openLuanest(ours);
  const redlock = new Redlock([forRedlock], { retryCount: 0 });
  // Every one of them renews by itself where it can; the lease is long enough that none does during a pair.
  const pairs = {
    luanest: async (i) => (await locks.acquire(`name-${i}`, { leaseMs: LEASE_MS })).release(),
    redlock: async (i) => (await redlock.acquire([`name-${i}`], LEASE_MS)).release(),
    'redis-semaphore': async (i) => {
      const mutex = new Mutex(forSemaphore, `name-${i}`, { lockTimeout: LEASE_MS });
      await mutex.acquire();
      await mutex.release();
    },
  };
  const compete = (calls, inFlight, count) =>
    rounds(
      count,
      Object.fromEntries(Object.entries(pairs).map(([name, pair]) => [name, () => measure(pair, calls, inFlight)])),
      () => admin.flushall(),
    );
  const rows = [];
  const add = (added) => {
    rows.push(added);
    const ratios = Object.entries(added.ratio).map(([peer, ratio]) => `${ratio.toFixed(2)} x ${peer}`);
    print(`${added.case}: ${added.luanest} ${added.unit} (${ratios.join(', ')})`);
  };
  // Not measured, because the compiler optimises the code during the first calls.
  await compete(20_000, 64, 1);
  add(row('pair-64', 'pairs/s', await compete(60_000, 64, ROUNDS), (figure) => figure.perSecond, false));
  add(row('pair-1', 'pairs/s', await compete(5_000, 1, 3 * ROUNDS), (figure) => figure.perSecond, false));
  await close();
  for (const client of [admin, ours, forRedlock, forSemaphore]) client.disconnect();
  server.stop();
  return rows;
}
