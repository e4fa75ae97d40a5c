// A server with one route that returns a small object, and the guard that --guard names. A second route, without a guard, returns
// the CPU time of the process. Prints its port. Ends with its input.
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { UsageController } from './usage.mjs';

const require = createRequire(import.meta.url);
const { Controller, Get, Module, UseGuards } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { FastifyAdapter } = require('@nestjs/platform-fastify');
const { ExpressAdapter } = require('@nestjs/platform-express');
const { ThrottlerGuard, ThrottlerModule } = require('@nestjs/throttler');
const { ThrottlerStorageRedisService } = require('@nest-lab/throttler-storage-redis');
const { Redis } = require('ioredis');
const { ScriptRegistryModule } = require('../dist/libs/script-registry/src/index.js');
const { RateLimitGuard, RateLimitModule } = require('../dist/libs/rate-limit/src/index.js');

const { values } = parseArgs({
  options: {
    platform: { type: 'string' },
    guard: { type: 'string' },
    rules: { type: 'string' },
    redis: { type: 'string' },
  },
});
const LIMIT = 1_000_000_000;
const WINDOW_MS = 3_600_000;
const names = Array.from({ length: Number(values.rules) }, (_, i) => `rule-${i}`);
const redis = () => new Redis(Number(values.redis), '127.0.0.1');

class RouteController {
  read() {
    return { hello: 'world' };
  }
}
Controller()(RouteController);
Get()(RouteController.prototype, 'read', Object.getOwnPropertyDescriptor(RouteController.prototype, 'read'));

const guards = {
  none: () => [],
  luanest: () => {
    UseGuards(RateLimitGuard)(RouteController);
    return [
      ScriptRegistryModule.forRoot({ client: redis(), preload: 'required' }),
      RateLimitModule.forRoot({ rules: names.map((name) => ({ name, limit: LIMIT, windowMs: WINDOW_MS })) }),
    ];
  },
  throttler: () => {
    UseGuards(ThrottlerGuard)(RouteController);
    return [
      ThrottlerModule.forRoot({
        throttlers: names.map((name) => ({ name, limit: LIMIT, ttl: WINDOW_MS })),
        storage: new ThrottlerStorageRedisService(redis()),
      }),
    ];
  },
};

class App {}
Module({ imports: guards[values.guard](), controllers: [RouteController, UsageController] })(App);
const adapter = values.platform === 'fastify' ? new FastifyAdapter() : new ExpressAdapter();
const app = await NestFactory.create(App, adapter, { logger: false });
await app.listen(0, '127.0.0.1');
console.log(JSON.stringify({ port: new URL(await app.getUrl()).port }));
process.stdin.on('end', () => process.exit(0)).resume();
