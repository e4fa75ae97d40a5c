// Redis memory per subject (a user, a message, a task): MEMORY USAGE of its keys, and the growth of used_memory.
import { createRequire } from 'node:module';
import { row, startRedis } from './harness.mjs';

const require = createRequire(import.meta.url);
const { Redis } = require('ioredis');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const lib = (name) => require(`../dist/libs/${name}/src/index.js`);
const { ScriptRegistryModule } = lib('script-registry');
const { RateLimitModule, RateLimitService } = lib('rate-limit');
const { OnceModule, OnceService } = lib('once');
const { ReadRewardModule, ReadRewardService } = lib('read-reward');
const { LockModule, LockService } = lib('lock');
const { DelayedTaskModule, DelayedTaskService } = lib('delayed-task');
const { defineStream, StreamConsumerModule, StreamConsumerService } = lib('stream-consumer');
const { RedPacketModule, RedPacketService } = lib('red-packet');

const SUBJECTS = 20_000;
const PATIENT = 60_000;
/** Ids as apps have them: a letter and 11 digits. */
const user = (i) => `u${String(10_000_000_000 + i)}`;
const PAYLOAD = { orderId: 'o1234567890', note: 'x'.repeat(64) };
const HOUR_MS = 3_600_000;
const ORDERS = defineStream({ name: 'orders', operationRetentionMs: 1_000 });

async function openApp(client) {
  class App {}
  Module({
    imports: [
      ScriptRegistryModule.forRoot({ client, preload: 'required', deadlineMs: PATIENT }),
      RateLimitModule.forRoot({ deadlineMs: PATIENT }),
      OnceModule.forRoot({}),
      ReadRewardModule.forRoot({ rules: { article: { limit: 5, dedupe: 'period' } } }),
      LockModule.forRoot({}),
      DelayedTaskModule.forRoot({ work: false }),
      StreamConsumerModule.forRoot({}),
      RedPacketModule.forRoot({ identity: () => undefined }),
    ],
  })(App);
  return NestFactory.createApplicationContext(App, { logger: false });
}

/** Functions that store the i-th subject, by their names in the table. */
function cases(app) {
  const [limits, once, rewards, locks, tasks, streams, packets] = [
    RateLimitService,
    OnceService,
    ReadRewardService,
    LockService,
    DelayedTaskService,
    StreamConsumerService,
    RedPacketService,
  ].map((token) => app.get(token));
  const consume = (algorithm, times) => async (i) => {
    const rule = { name: 'api', limit: 100, windowMs: HOUR_MS, algorithm };
    for (let n = 0; n < times; n++) await limits.consume(rule, user(i));
  };
  const activity = { activityId: 'rain', totalCents: 100 * SUBJECTS, packets: SUBJECTS };
  return {
    'rate-limit, fixed-window': { make: consume('fixed-window', 1) },
    'rate-limit, sliding-window': { make: consume('sliding-window', 1) },
    'rate-limit, token-bucket': { make: consume('token-bucket', 1) },
    'rate-limit, sliding-log of 10 hits': { make: consume('sliding-log', 10) },
    'once, an id of first()': { make: (i) => once.first(user(i)) },
    'once, an id of run() without a result': { make: (i) => once.run(user(i), {}, () => undefined) },
    'read-reward, a user with 5 items': {
      make: async (i) => {
        for (let n = 0; n < 5; n++) await rewards.record({ rule: 'article', userId: user(i), itemId: `article-${n}` });
      },
    },
    'lock, a name that was released': { make: (i) => locks.withLock(user(i), {}, () => undefined) },
    'delayed-task, a task of 99 bytes that waits': {
      make: (i) => tasks.schedule('order.expire', PAYLOAD, { id: user(i), delayMs: HOUR_MS }),
    },
    'stream-consumer, a message of 99 bytes, its operation forgotten': {
      make: (i) => streams.publish(ORDERS, PAYLOAD, { operationId: user(i) }),
      afterwards: () => new Promise((resolve) => setTimeout(resolve, 2_500)),
    },
    'red-packet, a packet in the pool': { make: (i) => (i === 0 ? packets.create(activity) : undefined) },
    'red-packet, a grant and its payout row': {
      before: () => packets.create(activity),
      make: (i) => packets.grab('rain', user(i)),
    },
  };
}

async function usedMemory(redis) {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
}

async function ofKeys(redis) {
  let bytes = 0;
  for (const key of await redis.keys('*')) bytes += Number(await redis.memory('USAGE', key, 'SAMPLES', 0));
  return bytes;
}

async function fill(make) {
  let next = 0;
  const worker = async () => {
    while (next < SUBJECTS) await make(next++);
  };
  await Promise.all(Array.from({ length: 128 }, worker));
}

export async function run(print) {
  const server = await startRedis();
  const [admin, client] = [new Redis(server.port, '127.0.0.1'), new Redis(server.port, '127.0.0.1')];
  const app = await openApp(client);
  const rows = [];
  const version = /redis_version:(\S+)/.exec(await admin.info('server'))?.[1];
  print(`Redis ${version}, ${SUBJECTS} subjects with ids of 12 characters; bytes each`);
  for (const [name, { make, before, afterwards }] of Object.entries(cases(app))) {
    await admin.flushall();
    await before?.();
    const [used, keys] = [await usedMemory(admin), await ofKeys(admin)];
    await fill(make);
    await afterwards?.();
    const perSubject = (bytes) => ({ value: bytes / SUBJECTS });
    const figures = {
      luanest: perSubject((await ofKeys(admin)) - keys),
      used_memory: perSubject((await usedMemory(admin)) - used),
    };
    // No ratio, because both values count the same bytes in different ways.
    const added = { ...row(name, 'bytes', figures, ({ value }) => Math.round(value), true), ratio: {} };
    rows.push(added);
    print(`${name}: ${added.luanest} by MEMORY USAGE, ${added.peers.used_memory} by used_memory`);
  }
  await app.close();
  for (const redis of [admin, client]) redis.disconnect();
  server.stop();
  return rows;
}
