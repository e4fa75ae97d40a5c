// One node of the tests with several processes: a clock that is off by SKEW_MS, jobs that append to lists in Redis, or
// with MODE=hold a lock that is held. Runs the built package.
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
const { setTimeout: sleep } = require('node:timers/promises');
require('reflect-metadata');
const { Redis } = require('ioredis');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { Cron, Interval, ScheduleModule } = require('@nestjs/schedule');
const lib = (name) => require(join(__dirname, '..', '..', '..', 'dist', 'libs', name, 'src', 'index.js'));
const { ScriptRegistryModule } = lib('script-registry');
const { LockModule, LockService } = lib('lock');
const { ScheduledLock, ScheduledLockModule, ScheduledLockService } = lib('scheduled-lock');

const client = new Redis(process.env.REDIS_URL);
const prefix = process.env.PREFIX;
const decorate = (decorators, target, key) => {
  const descriptor = Object.getOwnPropertyDescriptor(target.prototype, key);
  for (const decorator of decorators.reverse()) decorator(target.prototype, key, descriptor);
  Object.defineProperty(target.prototype, key, descriptor);
};

async function main() {
  let locks;
  const job = (list, ms) =>
    async function () {
      const { slot } = locks.current();
      await client.rpush(`${prefix}:runs:${list}`, slot);
      await sleep(ms);
    };
  class Jobs {}
  const jobs = [
    ['cron1', Cron('* * * * * *'), 1],
    ['cron100', Cron('* * * * * *'), 100],
    ['every1', Interval(200), 1],
    ['every100', Interval(200), 100],
  ];
  for (const [name, scheduler, ms] of jobs) {
    Jobs.prototype[name] = job(name, ms);
    decorate([ScheduledLock(), scheduler], Jobs, name);
  }
  class App {}
  const imports = [ScriptRegistryModule.forRoot({ client, prefix }), LockModule.forRoot({})];
  if (process.env.MODE !== 'hold') imports.push(ScheduledLockModule.forRoot({}), ScheduleModule.forRoot());
  Module({ imports, providers: process.env.MODE === 'hold' ? [] : [Jobs] })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: ['error'] });
  if (process.env.MODE !== 'hold') {
    locks = app.get(ScheduledLockService);
    process.stdout.write('ready\n');
    return;
  }
  const lock = await app.get(LockService).acquire('held', { leaseMs: 1_000 });
  const { signal } = lock;
  const stopped = { at: performance.now() };
  process.stdout.write(`fence ${lock.fence}\n`);
  // A gap between two turns is the stop; what is true in the first turn after it is what is told.
  const watch = async () => {
    const gap = performance.now() - stopped.at;
    stopped.at = performance.now();
    if (gap < 800) return void setTimeout(watch, 10);
    let thrown = '';
    try {
      lock.assertHeld();
    } catch ({ code }) {
      thrown = code;
    }
    await new Promise((resolve) => setImmediate(resolve));
    const { aborted } = signal;
    process.stdout.write(`woke ${thrown} ${aborted} ${await lock.release()}\n`);
  };
  void watch();
}
void main();
