// One of several nodes that are killed and stopped at random. Writes each thing that happens to a file before it goes on, so that
// a kill loses nothing: when it was ready, which timers fired, how each tick ended, what ran, and when this process stood still.
const { AsyncLocalStorage } = require('node:async_hooks');
const { openSync, writeSync } = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');
const { subscribe } = require('node:diagnostics_channel');
const { boot, decorate, lib } = require('./app.cjs');

const file = openSync(process.env.RECORD_FILE, 'a');
const record = (...entry) => writeSync(file, `${JSON.stringify([Date.now(), ...entry])}\n`);
const fire = new AsyncLocalStorage();
let fires = 0;
/** A tick knows which fire of a timer it belongs to. */
const firing = (job, callback) => {
  const id = ++fires;
  record('fire', job, id);
  return fire.run(id, callback);
};

// Before anybody takes it: the interval's own fires, seen from outside of what is tested.
const PERIOD_MS = 200;
const setIntervalOfNode = global.setInterval;
global.setInterval = (callback, ms, ...args) =>
  setIntervalOfNode(ms === PERIOD_MS ? () => firing('every', callback) : callback, ms, ...args);

const { Cron, Interval, ScheduleModule, SchedulerRegistry } = require('@nestjs/schedule');
const { ScheduledLock, ScheduledLockModule, ScheduledLockService, ScheduledLockEvents } = lib('scheduled-lock');

subscribe(ScheduledLockEvents.tickEnded, ({ name, status, slot }) =>
  record('status', name, fire.getStore() ?? 0, status, slot),
);

function watchClock() {
  let from = Date.now();
  setIntervalOfNode(() => {
    const to = Date.now();
    if (to - from > 30) record('stall', from, to);
    from = to;
  }, 10);
}

async function main() {
  let locks;
  class Jobs {}
  for (const [name, scheduler] of [
    ['cron', Cron('* * * * * *', { name: 'cron' })],
    ['every', Interval('every', PERIOD_MS)],
  ]) {
    Jobs.prototype[name] = async function () {
      const { slot } = locks.current();
      record('run', name, slot);
      await sleep(20);
    };
    decorate(Jobs, name, [ScheduledLock({ name, leaseMs: Number(process.env.LEASE_MS) }), scheduler]);
  }
  watchClock();
  const { app } = await boot(
    [ScheduledLockModule.forRoot({ namespace: 'default', node: process.env.NODE_NAME }), ScheduleModule.forRoot()],
    [Jobs],
  );
  locks = app.get(ScheduledLockService);
  const job = app.get(SchedulerRegistry).getCronJob('cron');
  const fireOnTick = job.fireOnTick.bind(job);
  job.fireOnTick = () => firing('cron', fireOnTick);
  record('ready');
  process.once('message', async () => {
    record('closing');
    await app.close();
    process.exit(0);
  });
}
void main();
