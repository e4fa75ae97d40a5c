// A process of console.bench.mjs with a Redis of its own: an idle app with queues, streams and locks, and with the console if --console
// is true. It sends its port, and at the message 'measure' what Redis and the process do in each slice of time.
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { redisUsage, startRedis } from './harness.mjs';

const require = createRequire(import.meta.url);
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { ExpressAdapter } = require('@nestjs/platform-express');
const lib = (name) => require(`../dist/libs/${name}/src/index.js`);
const { ScriptRegistryModule } = lib('script-registry');
const { DelayedTaskModule, DelayedTaskService } = lib('delayed-task');
const { StreamConsumerModule, StreamConsumerService } = lib('stream-consumer');
const { LockModule } = lib('lock');
const { ConsoleModule } = lib('console');

const SETTLE_MS = 4_000;
const SLICES = 5;
const SLICE_MS = 12_000;
/** Number of queues, and of streams with a group each. */
const COUNT = 10;

const { values } = parseArgs({ options: { console: { type: 'string' }, client: { type: 'string' } } });
const { Redis } = require(values.client);

const server = await startRedis();
const [client, admin] = [new Redis(server.port, '127.0.0.1'), new Redis(server.port, '127.0.0.1')];
const names = Array.from({ length: COUNT }, (_, i) => `name-${i}`);

class App {}
Module({
  imports: [
    ScriptRegistryModule.forRoot({ client, preload: 'required' }),
    DelayedTaskModule.forRoot({ queues: Object.fromEntries(names.map((name) => [name, {}])) }),
    StreamConsumerModule.forRoot(),
    LockModule.forRoot(),
    ...(values.console === 'true' ? [ConsoleModule.forRoot({ guard: { canActivate: () => true } })] : []),
  ],
})(App);
const app = await NestFactory.create(App, new ExpressAdapter(), { logger: ['error', 'warn'] });
await app.listen(0, '127.0.0.1');
for (const name of names) {
  app
    .get(DelayedTaskService)
    .queue(name)
    .handle('task', () => {});
  await app.get(DelayedTaskService).queue(name).schedule('task', {}, { delayMs: 86_400_000 });
  await app.get(StreamConsumerService).handle({ stream: name, group: 'bench' }, () => {});
}

async function sliceOf() {
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

const measured = new Promise((resolve) => process.once('message', resolve));
process.send({ port: new URL(await app.getUrl()).port });
await measured;
await sleep(SETTLE_MS);
const report = [];
for (let i = 0; i < SLICES; i++) report.push(await sliceOf());
server.stop();
process.send({ report }, () => process.exit());
