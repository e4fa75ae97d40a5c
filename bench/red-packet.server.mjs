// A server with the routes of red packets, and a route that returns a small object. Prints its port. Ends with its input.
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';

const require = createRequire(import.meta.url);
const { Controller, HttpCode, Module, Post } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { FastifyAdapter } = require('@nestjs/platform-fastify');
const { Redis } = require('ioredis');
const { ScriptRegistryModule } = require('../dist/libs/script-registry/src/index.js');
const { RedPacketModule } = require('../dist/libs/red-packet/src/index.js');

const { values } = parseArgs({ options: { redis: { type: 'string' } } });

class EmptyController {
  answer() {
    return { hello: 'world' };
  }
}
const answer = Object.getOwnPropertyDescriptor(EmptyController.prototype, 'answer');
Controller()(EmptyController);
Post('empty')(EmptyController.prototype, 'answer', answer);
HttpCode(200)(EmptyController.prototype, 'answer', answer);

class App {}
Module({
  imports: [
    ScriptRegistryModule.forRoot({ client: new Redis(Number(values.redis), '127.0.0.1'), preload: 'required' }),
    RedPacketModule.forRoot({ identity: (request) => request.headers['x-user'] }),
  ],
  controllers: [EmptyController],
})(App);
const app = await NestFactory.create(App, new FastifyAdapter(), { logger: false });
await app.listen(0, '127.0.0.1');
console.log(JSON.stringify({ port: app.getHttpServer().address().port }));
process.stdin.resume().once('end', () => process.exit(0));
