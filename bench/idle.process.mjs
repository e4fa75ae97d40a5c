// A process of idle.bench.mjs with a Redis of its own: opens what --scene names, waits until it has settled, and then reports
// what Redis and the process do while nobody does anything. With --wake-ups it reports how long as many single messages or tasks take
// from the call to the handler, ms.
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { redisUsage, startRedis } from './harness.mjs';

const require = createRequire(import.meta.url);
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { Cron, ScheduleModule } = require('@nestjs/schedule');
const lib = (name) => require(`../dist/libs/${name}/src/index.js`);
const { ScriptRegistryModule } = lib('script-registry');
const { RedPacketModule, RedPacketPayouts, RedPacketService } = lib('red-packet');
const { DelayedTaskModule, DelayedTaskService } = lib('delayed-task');
const { StreamConsumerModule, StreamConsumerService } = lib('stream-consumer');
const { ScheduledLock, ScheduledLockModule } = lib('scheduled-lock');

const SETTLE_MS = 4_000;
const SLICES = 5;
const SLICE_MS = 12_000;
/** Maximum number of partitions of one queue. */
const PARTITIONS = 250;
/** Wake-ups that are not counted. */
const WARM_UPS = 50;
/** Pause after a wake-up, in which the handler's consumer or worker falls asleep again. */
const PAUSE_MS = 10;

const { values } = parseArgs({
  options: {
    scene: { type: 'string' },
    count: { type: 'string' },
    client: { type: 'string' },
    'wake-ups': { type: 'string', default: '0' },
  },
});
const { Redis } = require(values.client);
const count = Number(values.count);
const wakeUps = Number(values['wake-ups']);
/** Called when a message or a task has come to its handler. */
let handled = () => {};

async function open(client, imports, providers = []) {
  class App {}
  Module({ imports: [ScriptRegistryModule.forRoot({ client, preload: 'required' }), ...imports], providers })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: ['error', 'warn'] });
  return app;
}

/** Calls `each` with every number below the count, 64 at a time. */
async function forEach(each) {
  let next = 0;
  const worker = async () => {
    while (next < count) await each(next++);
  };
  await Promise.all(Array.from({ length: 64 }, worker));
}

/** Each opens what it names. Streams and partitions return a function that wakes one of them. */
const scenes = {
  /** Open red packets of small groups, none of which anybody grabs, and a process that pays. */
  async activities(client) {
    const imports = [
      RedPacketModule.forRoot({ identity: () => undefined, controller: false }),
      StreamConsumerModule.forRoot({}),
    ];
    const app = await open(client, imports);
    await forEach((i) =>
      app.get(RedPacketService).create({ activityId: `group-${i}`, totalCents: 1_000, packets: 10 }),
    );
    app.get(RedPacketPayouts).run(() => {});
  },
  /** Streams, each with a consumer. */
  async streams(client) {
    const app = await open(client, [StreamConsumerModule.forRoot({})]);
    const streams = app.get(StreamConsumerService);
    await forEach((i) => streams.handle({ stream: `stream-${i}`, group: 'bench' }, () => handled()));
    return (i) => streams.publish(`stream-${i % count}`, i);
  },
  /** Queues with as many partitions together, each with a worker. */
  async partitions(client) {
    const queues = [];
    const partitions = Math.min(PARTITIONS, count);
    for (let queue = 0; queue < count / partitions; queue++) {
      const app = await open(client, [DelayedTaskModule.forRoot({ namespace: `queue-${queue}`, partitions })]);
      const tasks = app.get(DelayedTaskService);
      tasks.handle('task', () => handled());
      queues.push(tasks);
    }
    return (i) => queues[i % queues.length].schedule('task', i);
  },
  /** Jobs of @nestjs/schedule with locks, that are due once a year. */
  async jobs(client) {
    class Jobs {}
    for (let i = 0; i < count; i++) {
      const name = `job${i}`;
      Object.defineProperty(Jobs.prototype, name, { value: async () => {}, writable: true, configurable: true });
      const descriptor = Object.getOwnPropertyDescriptor(Jobs.prototype, name);
      Cron('0 0 3 1 1 *', { timeZone: 'UTC' })(Jobs.prototype, name, descriptor);
      ScheduledLock({ name })(Jobs.prototype, name, descriptor);
      Object.defineProperty(Jobs.prototype, name, descriptor);
    }
    await open(client, [ScheduledLockModule.forRoot({ namespace: 'bench' }), ScheduleModule.forRoot()], [Jobs]);
  },
};

async function sliceOf(admin) {
  const [before, cpu, startedMs] = [await redisUsage(admin), process.cpuUsage(), performance.now()];
  await sleep(SLICE_MS);
  const { user, system } = process.cpuUsage(cpu);
  const after = await redisUsage(admin);
  const seconds = (performance.now() - startedMs) / 1_000;
  return {
    // One of the commands is the INFO of this function.
    commandsPerSecond: (after.commands - before.commands - 1) / seconds,
    nodePercent: (user + system) / 1e4 / seconds,
    redisPercent: (after.cpuMicros - before.cpuMicros) / 1e4 / seconds,
  };
}

async function wakeUpMs(wake, i) {
  const done = new Promise((resolve) => (handled = resolve));
  const startedMs = performance.now();
  // The handler may run before the call has returned.
  const endedMs = done.then(() => performance.now());
  await wake(i);
  const ms = (await endedMs) - startedMs;
  await sleep(PAUSE_MS);
  return ms;
}

const server = await startRedis();
const [client, admin] = [new Redis(server.port, '127.0.0.1'), new Redis(server.port, '127.0.0.1')];
const wake = await scenes[values.scene](client);
await sleep(SETTLE_MS);
const report = [];
if (wakeUps > 0) {
  for (let i = 0; i < WARM_UPS + wakeUps; i++) report.push(await wakeUpMs(wake, i));
  report.splice(0, WARM_UPS);
} else {
  for (let i = 0; i < SLICES; i++) report.push(await sliceOf(admin));
}
server.stop();
process.send(report, () => process.exit());
