// One node whose job runs until it is told to end. After a stop of the process it tells what its lock says in the first
// turn, and how the run ended.
const { subscribe } = require('node:diagnostics_channel');
const { boot, decorate, lib } = require('./app.cjs');
const { Interval, ScheduleModule } = require('@nestjs/schedule');
const { ScheduledLock, ScheduledLockModule, ScheduledLockService, SCHEDULED_LOCK_CHANNELS } = lib('scheduled-lock');

const print = (line) => process.stdout.write(`${line}\n`);
const leaseMs = Number(process.env.LEASE_MS);
let locks;

async function job() {
  const { signal, slot, fence } = locks.current();
  const run = locks.current();
  print(`running ${slot} ${fence}`);
  let seenAt = performance.now();
  // A gap between two turns is the stop; what is true in the first turn after it is what is told.
  while (performance.now() - seenAt < leaseMs * 0.8) {
    seenAt = performance.now();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
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
    ScheduledLock({ name: 'job', lockAtMostForMs: leaseMs, catchUpWithinMs: Number(process.env.CATCH_UP_MS ?? 0) }),
    Interval(Number(process.env.PERIOD_MS)),
  ]);
  subscribe(SCHEDULED_LOCK_CHANNELS.outcome, ({ outcome, fence }) => fence && print(`outcome ${outcome} ${fence}`));
  const { app } = await boot(
    [ScheduledLockModule.forRoot({ node: process.env.NODE_NAME }), ScheduleModule.forRoot()],
    [Jobs],
  );
  locks = app.get(ScheduledLockService);
  print('ready');
}
void main();
