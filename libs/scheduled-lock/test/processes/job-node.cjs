// One node whose job runs until a message comes. A message that was sent while the process stood still arrives in the first
// turn after it: it reports the state of the lock then, and how the run ended.
const { once } = require('node:events');
const { subscribe } = require('node:diagnostics_channel');
const { boot, decorate, lib } = require('./app.cjs');
const { Interval, ScheduleModule } = require('@nestjs/schedule');
const { ScheduledLock, ScheduledLockModule, ScheduledLockService, ScheduledLockEvents } = lib('scheduled-lock');

const print = (line) => process.stdout.write(`${line}\n`);
const leaseMs = Number(process.env.LEASE_MS);
let locks;

async function job() {
  const { signal, slot, fence } = locks.current();
  const run = locks.current();
  print(`running ${slot} ${fence}`);
  await once(process, 'message');
  let thrown = 'nothing';
  try {
    run.assertHeld();
  } catch ({ code }) {
    thrown = code;
  }
  await new Promise((resolve) => setImmediate(resolve));
  print(`woke ${thrown} ${signal.aborted}`);
}

async function main() {
  class Jobs {}
  Jobs.prototype.job = job;
  decorate(Jobs, 'job', [
    ScheduledLock({ name: 'job', leaseMs, catchUpWithinMs: Number(process.env.CATCH_UP_MS ?? 0) }),
    Interval(Number(process.env.PERIOD_MS)),
  ]);
  subscribe(ScheduledLockEvents.tickEnded, ({ status, fence }) => fence && print(`status ${status} ${fence}`));
  const { app } = await boot(
    [ScheduledLockModule.forRoot({ namespace: 'default', node: process.env.NODE_NAME }), ScheduleModule.forRoot()],
    [Jobs],
  );
  locks = app.get(ScheduledLockService);
  print('ready');
}
void main();
