// What the child processes share: a clock that is off by SKEW_MS, the built package, decorators without a compiler.
const skew = Number(process.env.SKEW_MS ?? 0);
const RealDate = Date;
if (skew !== 0) {
  global.Date = class extends RealDate {
    constructor(...args) {
      if (args.length === 0) super(RealDate.now() + skew);
      else super(...args);
    }
    static now() {
      return RealDate.now() + skew;
    }
  };
}
const { join } = require('node:path');
require('reflect-metadata');
const { Redis } = require('ioredis');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const lib = (name) => require(join(__dirname, '..', '..', '..', '..', 'dist', 'libs', name, 'src', 'index.js'));
const { ScriptRegistryModule } = lib('script-registry');

process.on('unhandledRejection', (error) => {
  process.stderr.write(`unhandled rejection: ${error?.stack ?? error}\n`);
  process.exit(1);
});

exports.lib = lib;
exports.realNow = () => RealDate.now();

/** Applies decorators to a method, the uppermost first in the list. */
exports.decorate = (target, key, decorators) => {
  const descriptor = Object.getOwnPropertyDescriptor(target.prototype, key);
  for (const decorator of [...decorators].reverse()) decorator(target.prototype, key, descriptor);
  Object.defineProperty(target.prototype, key, descriptor);
};

exports.boot = async (imports, providers) => {
  const client = new Redis(process.env.REDIS_URL);
  class App {}
  Module({ imports: [ScriptRegistryModule.forRoot({ client, prefix: process.env.PREFIX }), ...imports], providers })(
    App,
  );
  const app = await NestFactory.createApplicationContext(App, { logger: ['error'] });
  return { app, client };
};
