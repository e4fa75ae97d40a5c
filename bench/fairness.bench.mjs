// How late tasks of one kind are while many tasks of another wait: `otp` next to slow `pdf` tasks, and a small tenant next to a large one. BullMQ
// does the same with what its free edition has: one queue, first in, first out, or a queue of its own for the slow tasks.
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { collect, row, startRedis } from './harness.mjs';

const require = createRequire(import.meta.url);
const { Redis } = require('ioredis');
const { ScriptRegistryModule } = require('../dist/libs/script-registry/src/index.js');
const { DelayedTaskModule, DelayedTaskService } = require('../dist/libs/delayed-task/src/index.js');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { Queue, Worker } = await import('bullmq');

/** Places for tasks in the process, and those of the slow queue where there is one. */
const [PLACES, SLOW_PLACES] = [50, 4];
const PDFS = 200;
const PDF_MS = 500;
const LARGE = 100_000;
const LARGE_MS = 5;
const PROBES = 40;
const PROBE_EVERY_MS = 50;
const CHUNK = 1_000;

/** Work of a task: how long it takes, and whether its lateness is asked for. */
const handlerOf =
  (late) =>
  async ({ ms, at }) => {
    if (at !== undefined) late.push(performance.timeOrigin + performance.now() - at);
    if (ms > 0) await sleep(ms);
  };

async function luanest(port, late) {
  const client = new Redis(port);
  class App {}
  Module({
    imports: [
      ScriptRegistryModule.forRoot({ client, preload: 'required' }),
      DelayedTaskModule.forRoot({ concurrency: PLACES, queues: { slow: { concurrency: SLOW_PLACES } }, drainMs: 100 }),
    ],
  })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  const tasks = app.get(DelayedTaskService);
  const start = () => {
    tasks.handle('t', handlerOf(late));
    tasks.queue('slow').handle('t', handlerOf(late));
  };
  const add = (items) =>
    tasks.scheduleMany(items.map(({ queue, group, ...payload }) => ({ name: 't', payload, queue, group })));
  const close = async () => {
    await tasks.cancelAll();
    await app.close();
    client.disconnect();
  };
  return { start, add, close };
}

async function bullmq(port, late) {
  const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
  const names = { default: PLACES, slow: SLOW_PLACES };
  const queues = Object.fromEntries(Object.keys(names).map((name) => [name, new Queue(name, { connection })]));
  const workers = [];
  const start = () => {
    for (const [name, concurrency] of Object.entries(names)) {
      workers.push(new Worker(name, async ({ data }) => handlerOf(late)(data), { connection, concurrency }));
    }
  };
  const opts = { removeOnComplete: true };
  const add = (items) =>
    queues[items[0].queue ?? 'default'].addBulk(items.map(({ ms, at }) => ({ name: 't', data: { ms, at }, opts })));
  const close = async () => {
    await Promise.all(workers.map((worker) => worker.close(true)));
    await Promise.all(Object.values(queues).map((queue) => queue.close()));
  };
  return { start, add, close };
}

const repeated = async (add, count, item) => {
  for (let at = 0; at < count; at += CHUNK) await add(Array.from({ length: Math.min(CHUNK, count - at) }, () => item));
};

/** Schedules tasks whose lateness is measured, one after another, and waits until all have run. */
async function probe(peer, late, item) {
  for (let i = 0; i < PROBES; i++) {
    await peer.add([{ ...item, at: performance.timeOrigin + performance.now() }]);
    await sleep(PROBE_EVERY_MS);
  }
  for (let waited = 0; late.length < PROBES && waited < 600; waited++) await sleep(100);
  return late.length === PROBES ? late.sort((a, b) => a - b) : undefined;
}

const cases = {
  // A queue of their own for the slow tasks.
  async otp(peer, late) {
    await repeated(peer.add, PDFS, { ms: PDF_MS, queue: 'slow' });
    peer.start();
    await sleep(500);
    return probe(peer, late, { ms: 0 });
  },
  // One queue for both.
  async 'otp-one-queue'(peer, late) {
    await repeated(peer.add, PDFS, { ms: PDF_MS });
    peer.start();
    await sleep(500);
    return probe(peer, late, { ms: 0 });
  },
  async tenant(peer, late) {
    await repeated(peer.add, LARGE, { ms: LARGE_MS, group: 'large' });
    peer.start();
    await sleep(500);
    return probe(peer, late, { ms: LARGE_MS, group: 'small' });
  },
};

export async function run(print) {
  const server = await startRedis();
  const admin = new Redis(server.port);
  const { rows, add } = collect(print);
  for (const [name, measure] of Object.entries(cases)) {
    const figures = {};
    for (const [who, open] of Object.entries({ luanest, bullmq })) {
      await admin.flushall();
      const late = [];
      const peer = await open(server.port, late);
      figures[who] = await measure(peer, late);
      await peer.close();
    }
    const at = (share) => (late) => late[Math.min(PROBES - 1, Math.floor(PROBES * share))];
    for (const [suffix, pick] of Object.entries({ '-median': at(0.5), '-most': at(1) })) {
      const of = Object.fromEntries(Object.entries(figures).map(([who, late]) => [who, { runs: [late] }]));
      add(row(`${name}${suffix}`, 'ms late', of, pick, true));
    }
  }
  admin.disconnect();
  server.stop();
  return rows;
}
