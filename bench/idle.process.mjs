// A process of idle.bench.mjs with a Redis of its own: opens what --scene names, waits until it has settled, and then reports
// what Redis and the process do while nobody does anything.
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
const SLICE_MS = 2_000;
/** Most partitions of one queue. */
const PARTITIONS = 250;

const { values } = parseArgs({
  options: { scene: { type: 'string' }, count: { type: 'string' }, client: { type: 'string' } },
});
const { Redis } = require(values.client);
const count = Number(values.count);

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
    await forEach((i) => app.get(StreamConsumerService).consume({ stream: `stream-${i}`, group: 'bench' }, () => {}));
  },
  /** Queues with as many partitions together, each with a worker. */
  async partitions(client) {
    for (let queue = 0; queue < count / PARTITIONS; queue++) {
      const imports = [DelayedTaskModule.forRoot({ namespace: `queue-${queue}`, partitions: PARTITIONS })];
      const app = await open(client, imports);
      app.get(DelayedTaskService).process('task', () => {});
    }
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

const server = await startRedis();
const [client, admin] = [new Redis(server.port, '127.0.0.1'), new Redis(server.port, '127.0.0.1')];
await scenes[values.scene](client);
await sleep(SETTLE_MS);
const slices = [];
for (let i = 0; i < SLICES; i++) {
  const [before, cpu, startedMs] = [await redisUsage(admin), process.cpuUsage(), performance.now()];
  await sleep(SLICE_MS);
  const { user, system } = process.cpuUsage(cpu);
  const after = await redisUsage(admin);
  const seconds = (performance.now() - startedMs) / 1_000;
  slices.push({
    // One of the commands is the INFO of this loop.
    commandsPerSecond: (after.commands - before.commands - 1) / seconds,
    nodePercent: (user + system) / 1e4 / seconds,
    redisPercent: (after.cpuMicros - before.cpuMicros) / 1e4 / seconds,
  });
}
server.stop();
process.send(slices, () => process.exit());
