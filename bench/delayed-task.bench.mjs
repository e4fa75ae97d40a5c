// DelayedTaskService compared with BullMQ: the same trivial handler, the same tasks, each with its own Redis.
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { row, startRedis } from './harness.mjs';

const require = createRequire(import.meta.url);
const { Redis } = require('ioredis');
const { ScriptRegistryModule } = require('../dist/libs/script-registry/src/index.js');
const { DelayedTaskModule, DelayedTaskService } = require('../dist/libs/delayed-task/src/index.js');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { Queue, Worker } = await import('bullmq');

const ROUNDS = 5;
const CONCURRENCY = 100;
const PROCESS = 40_000;
const BULK = 20_000;
const BULK_CHUNK = 1_000;
const BURST = 20_000;
const LATE_TASKS = 4_000;
const HOUR = 3_600_000;

const payload = (i) => ({ order: `order-${i}`, amountCents: i });

/** Counts tasks, and notes how late each began; resolves when all have run. */
class Tally {
  constructor(expected) {
    this.left = expected;
    this.lateness = [];
    this.all = new Promise((resolve) => (this.done = resolve));
  }

  /** @param dueAt ms since 1970, where lateness is asked for */
  ran(dueAt) {
    if (dueAt !== undefined) this.lateness.push(performance.timeOrigin + performance.now() - dueAt);
    if (--this.left === 0) this.done();
  }

  get p99() {
    return this.lateness.sort((a, b) => a - b)[Math.floor(this.lateness.length * 0.99)];
  }
}

/** Apps of luanest: one that schedules, one that works. */
async function luanest(port) {
  const open = async (work) => {
    const client = new Redis(port);
    class App {}
    Module({
      imports: [
        ScriptRegistryModule.forRoot({ client, preload: 'required' }),
        DelayedTaskModule.forRoot({ concurrency: CONCURRENCY, work }),
      ],
    })(App);
    const app = await NestFactory.createApplicationContext(App, { logger: false });
    const close = async () => {
      await app.close();
      client.disconnect();
    };
    return { tasks: app.get(DelayedTaskService), close };
  };
  const producer = await open(false);
  return {
    addBulk: (items) =>
      producer.tasks.scheduleMany(items.map(({ data, delay }) => ({ name: 't', payload: data, delayMs: delay }))),
    addAt: (items) =>
      producer.tasks.scheduleMany(items.map(({ data, at }) => ({ name: 't', payload: data, runAtMs: at }))),
    /** A worker that is connected and has not begun. */
    async worker(handler) {
      const { tasks, close } = await open();
      return { start: () => tasks.handle('t', async (data) => handler(data)), stop: close };
    },
    close: producer.close,
  };
}

/** A queue of BullMQ, and workers of it. */
function bullmq(port) {
  const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
  const queue = new Queue('bench', { connection, defaultJobOptions: { removeOnComplete: true } });
  const add = (items, optionsOf) =>
    queue.addBulk(items.map((item) => ({ name: 't', data: item.data, opts: optionsOf(item) })));
  return {
    addBulk: (items) => add(items, ({ delay }) => ({ delay })),
    addAt: (items) => add(items, ({ at }) => ({ delay: Math.max(0, at - Date.now()) })),
    async worker(handler) {
      const worker = new Worker('bench', async ({ data }) => handler(data), {
        connection,
        concurrency: CONCURRENCY,
        autorun: false,
      });
      await worker.waitUntilReady();
      return { start: () => void worker.run(), stop: () => worker.close() };
    },
    close: () => queue.close(),
  };
}

async function addAll(add, count, itemOf) {
  for (let at = 0; at < count; at += BULK_CHUNK) {
    await add(Array.from({ length: Math.min(BULK_CHUNK, count - at) }, (_, i) => itemOf(at + i)));
  }
}

const timed = async (work) => {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1_000;
};

const cases = {
  async 'process-100'(peer) {
    const tally = new Tally(PROCESS);
    await addAll(peer.addBulk, PROCESS, (i) => ({ data: payload(i), delay: 0 }));
    const worker = await peer.worker(() => tally.ran());
    const seconds = await timed(async () => {
      worker.start();
      await tally.all;
    });
    await worker.stop();
    return PROCESS / seconds;
  },
  async 'schedule-bulk'(peer) {
    return BULK / (await timed(() => addAll(peer.addBulk, BULK, (i) => ({ data: payload(i), delay: HOUR + i }))));
  },
  async 'burst-20000'(peer) {
    const tally = new Tally(BURST);
    const worker = await peer.worker(() => tally.ran());
    worker.start();
    const at = Date.now() + 2_500;
    await addAll(peer.addAt, BURST, (i) => ({ data: payload(i), at }));
    await tally.all;
    const ms = Date.now() - at;
    await worker.stop();
    return ms;
  },
  async 'lateness-p99'(peer) {
    const tally = new Tally(LATE_TASKS);
    const worker = await peer.worker(({ at }) => tally.ran(at));
    worker.start();
    const start = Date.now() + 1_000;
    await addAll(peer.addAt, LATE_TASKS, (i) => ({ data: { at: start + i }, at: start + i }));
    await tally.all;
    await worker.stop();
    return tally.p99;
  },
};

const UNITS = {
  'process-100': ['tasks/s', false],
  'schedule-bulk': ['tasks/s', false],
  'burst-20000': ['ms', true],
  'lateness-p99': ['ms', true],
};

export async function run(print) {
  const servers = { luanest: await startRedis(), bullmq: await startRedis() };
  const open = { luanest, bullmq };
  const admins = Object.fromEntries(Object.entries(servers).map(([name, { port }]) => [name, new Redis(port)]));
  const once = async (name, measure) => {
    await admins[name].flushall();
    const peer = await open[name](servers[name].port);
    const figure = await measure(peer);
    await peer.close();
    await sleep(50);
    return figure;
  };
  const rows = [];
  for (const [name, measure] of Object.entries(cases)) {
    const figures = { luanest: [], bullmq: [] };
    const count = name === 'lateness-p99' ? 3 : ROUNDS;
    // The first round is not counted, because the compiler optimises the code during it.
    for (let round = 0; round <= count; round++) {
      for (const who of round % 2 ? ['luanest', 'bullmq'] : ['bullmq', 'luanest']) {
        const figure = await once(who, measure);
        if (round > 0) figures[who].push(figure);
      }
    }
    const [unit, lowerIsBetter] = UNITS[name];
    const [ours, theirs] = [{ runs: figures.luanest }, { runs: figures.bullmq }];
    const added = row(name, unit, { luanest: ours, bullmq: theirs }, (figure) => figure, lowerIsBetter);
    rows.push(added);
    print(`${name}: ${added.luanest} ${unit}, BullMQ ${added.peers.bullmq} (${added.ratio.bullmq.toFixed(2)} x)`);
  }
  for (const admin of Object.values(admins)) admin.disconnect();
  for (const server of Object.values(servers)) server.stop();
  return rows;
}
