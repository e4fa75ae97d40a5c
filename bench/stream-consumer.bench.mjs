// Messages that wait beforehand, handled by the same trivial async handler at concurrency 100 and acknowledged:
// StreamConsumerService compared with a BullMQ worker. The clock stops when Redis has nothing left of any message.
import { createRequire } from 'node:module';
import { rounds, row, startRedis } from './harness.mjs';

const require = createRequire(import.meta.url);
const { Redis } = require('ioredis');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { ScriptRegistryModule } = require('../dist/libs/script-registry/src/index.js');
const { StreamConsumerModule, StreamConsumerService } = require('../dist/libs/stream-consumer/src/index.js');
const { Queue, Worker } = require('bullmq');

const ROUNDS = 5;
const MESSAGES = 40_000;
const WARM_UP = 10_000;
const CONCURRENCY = 100;
const BULK = 1_000;

const payload = (i) => ({ user: `user-${i}`, cents: i });

/** How long `work` took, as messages a second and Node's CPU time a message. */
async function timed(messages, work) {
  const cpu = process.cpuUsage();
  const started = performance.now();
  await work();
  const seconds = (performance.now() - started) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: messages / seconds, cpuMicros: (user + system) / messages };
}

/** A handler that does nothing, asynchronously, and a promise of its last call. */
function counter(messages) {
  let [handled, sum, tell] = [0, 0, undefined];
  const all = new Promise((resolve) => (tell = resolve));
  const handle = async (data) => {
    sum += data.cents;
    handled += 1;
    if (handled === messages) tell();
  };
  const check = () => {
    if (handled !== messages || sum !== (messages * (messages - 1)) / 2) throw new Error(`${handled} were handled`);
  };
  return { handle, all, check };
}

async function untilNone(left) {
  while ((await left()) > 0) await new Promise((resolve) => setTimeout(resolve, 1));
}

async function openLuanest(client) {
  class App {}
  Module({
    imports: [ScriptRegistryModule.forRoot({ client, preload: 'required' }), StreamConsumerModule.forRoot({})],
  })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  return { streams: app.get(StreamConsumerService), close: () => app.close() };
}

async function luanestRound(streams, messages) {
  for (let i = 0; i < messages; i += BULK) {
    const bulk = Array.from({ length: BULK }, (_, j) => ({ payload: payload(i + j) }));
    await streams.publishMany('jobs', bulk);
  }
  const { handle, all, check } = counter(messages);
  let consumer;
  const figures = await timed(messages, async () => {
    consumer = await streams.handle({ stream: 'jobs', group: 'bench', concurrency: CONCURRENCY }, ({ payload }) =>
      handle(payload),
    );
    await all;
    await untilNone(async () => (await streams.stats('jobs', 'bench')).length);
  });
  check();
  await consumer.stop();
  return figures;
}

async function bullRound(port, messages) {
  const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
  const queue = new Queue('jobs', { connection });
  const options = { removeOnComplete: true };
  for (let i = 0; i < messages; i += BULK) {
    await queue.addBulk(Array.from({ length: BULK }, (_, j) => ({ name: 'job', data: payload(i + j), opts: options })));
  }
  const { handle, all, check } = counter(messages);
  let worker;
  const figures = await timed(messages, async () => {
    worker = new Worker('jobs', (job) => handle(job.data), { connection, concurrency: CONCURRENCY });
    await all;
    await untilNone(async () => (await queue.getActiveCount()) + (await queue.getWaitingCount()));
  });
  check();
  await worker.close();
  await queue.close();
  return figures;
}

export async function run(print) {
  const server = await startRedis();
  const [admin, client] = [0, 1].map(() => new Redis(server.port));
  const { streams, close } = await openLuanest(client);
  const compete = (messages, count) =>
    rounds(
      count,
      { luanest: () => luanestRound(streams, messages), bullmq: () => bullRound(server.port, messages) },
      () => admin.flushall(),
    );
  await compete(WARM_UP, 1);
  const figures = await compete(MESSAGES, ROUNDS);
  const rows = [
    row('process-100', 'messages/s', figures, (figure) => figure.perSecond, false),
    row('process-100-cpu', 'µs Node CPU/message', figures, (figure) => figure.cpuMicros, true),
  ];
  for (const { case: name, luanest, unit, ratio } of rows) {
    const ratios = Object.entries(ratio).map(([peer, value]) => `${value.toFixed(2)} x ${peer}`);
    print(`${name}: ${luanest} ${unit} (${ratios.join(', ')})`);
  }
  await close();
  for (const redis of [admin, client]) redis.disconnect();
  server.stop();
  return rows;
}
