// Boot and close of an app with three modules, as a test file does it: on the in-memory Redis, and with a server of its own.
import { createRequire } from 'node:module';
import { collect, rounds, row, startRedis } from './harness.mjs';

const require = createRequire(import.meta.url);
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { DelayedTaskModule } = require('../dist/libs/delayed-task/src/index.js');
const { LockModule, LockService } = require('../dist/libs/lock/src/index.js');
const { RateLimitModule } = require('../dist/libs/rate-limit/src/index.js');
const { ScriptRegistryModule } = require('../dist/libs/script-registry/src/index.js');
const { LuanestTestingModule } = require('../dist/libs/testing/src/index.js');

const ROUNDS = 30;

async function bootAndClose(registry) {
  class App {}
  Module({ imports: [registry, LockModule.forRoot(), RateLimitModule.forRoot(), DelayedTaskModule.forRoot()] })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  await (await app.get(LockService).acquire('a')).release();
  return () => app.close();
}

/** Measures both parts, ms. @param boot returns a function that closes what it has booted */
async function timed(boot) {
  const from = performance.now();
  const close = await boot();
  const booted = performance.now();
  await close();
  return { boot: booted - from, close: performance.now() - booted };
}

const inMemory = () => timed(() => bootAndClose(LuanestTestingModule.forRoot()));
const withServer = () =>
  timed(async () => {
    const server = await startRedis();
    const url = `redis://127.0.0.1:${server.port}`;
    const close = await bootAndClose(ScriptRegistryModule.forRoot({ url, preload: 'required' }));
    return async () => {
      await close();
      server.stop();
    };
  });

export async function run(print) {
  // Each server listens to the end of the process.
  process.setMaxListeners(0);
  const { rows, add } = collect(print);
  const first = await inMemory();
  const figures = await rounds(ROUNDS, { luanest: inMemory, 'redis-server': withServer }, () => undefined);
  add(row('boot-first', 'ms', { luanest: first }, ({ boot }) => boot, true));
  add(row('boot', 'ms', figures, ({ boot }) => boot, true));
  add(row('close', 'ms', figures, ({ close }) => close, true));
  return rows;
}
