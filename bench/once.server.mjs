// A server with one POST route on Fastify that returns a small object, made idempotent by the method that --guard names. Prints
// its port. Ends with its input.
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { UsageController } from './usage.mjs';

const require = createRequire(import.meta.url);
const { Controller, Module, Post, UseInterceptors } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { FastifyAdapter } = require('@nestjs/platform-fastify');
const { Redis } = require('ioredis');
const { from, mergeMap, of } = require('rxjs');
const { ScriptRegistryModule } = require('../dist/libs/script-registry/src/index.js');
const { Idempotent, OnceModule } = require('../dist/libs/once/src/index.js');

const { values } = parseArgs({ options: { guard: { type: 'string' }, redis: { type: 'string' } } });
const port = Number(values.redis);

const CLAIM =
  "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return redis.call('get', KEYS[1])";
const CONFIRM = "redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1";

/** The version without a library: an interceptor that claims a key and confirms it with one EVALSHA each. */
async function byHand() {
  const redis = new Redis(port, '127.0.0.1');
  const [claim, confirm] = [await redis.script('LOAD', CLAIM), await redis.script('LOAD', CONFIRM)];
  return {
    async intercept(context, next) {
      const http = context.switchToHttp();
      const key = `hand:${http.getRequest().headers['idempotency-key']}`;
      const answer = await redis.evalsha(claim, 1, key, 'in-progress', 30_000);
      if (answer !== 1) {
        http.getResponse().header('idempotency-replayed', 'true');
        return of(JSON.parse(answer));
      }
      return next
        .handle()
        .pipe(
          mergeMap((body) => from(redis.evalsha(confirm, 1, key, JSON.stringify(body), 86_400_000).then(() => body))),
        );
    },
  };
}

const guards = {
  none: () => ({ imports: [], decorate: () => {} }),
  luanest: () => ({
    imports: [
      ScriptRegistryModule.forRoot({ client: new Redis(port, '127.0.0.1'), preload: 'required' }),
      OnceModule.forRoot({ idempotency: { subject: () => 'anybody' } }),
    ],
    decorate: Idempotent(),
  }),
  'node-idempotency': () => {
    const { NodeIdempotencyModule, Idempotent: PeerIdempotent } = require('@node-idempotency/nestjs');
    const storage = { adapter: 'redis', options: { url: `redis://127.0.0.1:${port}` } };
    return { imports: [NodeIdempotencyModule.forRootAsync({ storage })], decorate: PeerIdempotent() };
  },
  'two-evalsha': async () => ({ imports: [], decorate: UseInterceptors(await byHand()) }),
};

const { imports, decorate } = await guards[values.guard]();
class Orders {
  create() {
    return { orderId: '1', status: 'created' };
  }
}
const descriptor = Object.getOwnPropertyDescriptor(Orders.prototype, 'create');
Post()(Orders.prototype, 'create', descriptor);
decorate(Orders.prototype, 'create', descriptor);
Controller('orders')(Orders);
class App {}
Module({ imports, controllers: [Orders, UsageController] })(App);
const app = await NestFactory.create(App, new FastifyAdapter(), { logger: false, abortOnError: false });
await app.listen(0, '127.0.0.1');
console.log(JSON.stringify({ port: new URL(await app.getUrl()).port }));
process.stdin.on('end', () => process.exit(0)).resume();
