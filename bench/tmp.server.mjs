// One route that answers a small object, with the guard that --guard names; prints its port and ends with its input.
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';

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

class Sync { canActivate() { return true; } }
class Async { async canActivate() { return true; } }
let svc; const rule = { name: 'x', limit: 1e9, windowMs: 3600000 };
class Svc { async canActivate(c) { return (await svc.consume(rule, c.getArgByIndex(0).ip)).allowed; } }
class Head { canActivate(c) { const r = c.getArgByIndex(1); r.header('X-RateLimit-Limit', '1000000'); r.header('X-RateLimit-Remaining', '999999'); r.header('X-RateLimit-Reset', '3600'); r.header('RateLimit-Policy', '"rule-0";q=1000000;w=3600'); r.header('RateLimit', '"rule-0";r=99999;t=3600'); return true; } }
const guards = {
  sync: () => { UseGuards(Sync)(RouteController); return []; },
  async: () => { UseGuards(Async)(RouteController); return []; },
  head: () => { UseGuards(Head)(RouteController); return []; },
  svc: () => { UseGuards(Svc)(RouteController); return [ScriptRegistryModule.forRoot({ client: redis(), preload: 'required' }), RateLimitModule.forRoot({})]; },
  nohead: () => { UseGuards(RateLimitGuard)(RouteController); return [ScriptRegistryModule.forRoot({ client: redis(), preload: 'required' }), RateLimitModule.forRoot({ rules: names.map((name) => ({ name, limit: LIMIT, windowMs: WINDOW_MS })), answers: { legacy: false, draft: false } })]; },
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
Module({ imports: guards[values.guard](), controllers: [RouteController] })(App);
const adapter = values.platform === 'fastify' ? new FastifyAdapter() : new ExpressAdapter();
const app = await NestFactory.create(App, adapter, { logger: false });
svc = values.guard === 'svc' ? app.get(require('../dist/libs/rate-limit/src/index.js').RateLimitService) : undefined;
await app.listen(0, '127.0.0.1');
console.log(JSON.stringify({ port: new URL(await app.getUrl()).port }));
process.stdin.on('end', () => process.exit(0)).resume();
