// One of several nodes that have the same jobs. Reports by IPC which timers fired, how each tick ended, what ran when, and
// when this process stood still.
const { setTimeout: sleep } = require('node:timers/promises');
const { subscribe } = require('node:diagnostics_channel');
const { boot, decorate, lib, realNow } = require('./app.cjs');

// Before anybody takes it: the intervals' own fires, seen from outside of what is tested.
const fires = {};
const counted = (job) => (fires[job] = (fires[job] ?? 0) + 1);
const setIntervalOfNode = global.setInterval;
let intervalOf = () => undefined;
global.setInterval = (callback, ms, ...args) => {
  const job = intervalOf(ms, callback);
  return setIntervalOfNode(job ? () => (counted(job), callback()) : callback, ms, ...args);
};

const { Cron, Interval, ScheduleModule, SchedulerRegistry } = require('@nestjs/schedule');
const { ScheduledLock, ScheduledLockModule, ScheduledLockService, ScheduledLockEvents } = lib('scheduled-lock');

// Interval jobs have distinct periods in Node's eyes (201 would be another), so names are given in the order of mounting.
const JOBS = [
  ['cron1', Cron('* * * * * *', { name: 'cron1' }), 1],
  ['cron100', Cron('* * * * * *', { name: 'cron100' }), 100],
  ['every1', Interval('every1', 200), 1],
  ['every100', Interval('every100', 200), 100],
  ['fast1', Interval('fast1', 100), 1],
  ['fast20', Interval('fast20', 100), 20],
];

const ticks = [];
const runs = [];
const stalls = [];
subscribe(ScheduledLockEvents.tickEnded, ({ name, status, slot }) =>
  ticks.push([name.split('.')[1], status, slot, realNow()]),
);
const report = () =>
  process.send({ ticks: ticks.splice(0), runs: runs.splice(0), stalls: stalls.splice(0), fires: { ...fires } });

/** As `stalls.ts` does. */
function watchClock() {
  let from = realNow();
  setIntervalOfNode(() => {
    const to = realNow();
    if (to - from > 30) stalls.push([from, to]);
    from = to;
  }, 10);
}

async function main() {
  await sleep(Math.random() * 400); // the intervals' phases
  let locks;
  class Jobs {}
  for (const [name, scheduler, ms] of JOBS) {
    Jobs.prototype[name] = async function () {
      const startedAt = realNow();
      const { slot } = locks.current();
      await sleep(ms);
      locks.current().assertHeld();
      runs.push([name, slot, startedAt, realNow()]);
    };
    decorate(Jobs, name, [ScheduledLock(), scheduler]);
  }
  const mounted = JOBS.filter(([name]) => !name.startsWith('cron')).map(([name]) => name);
  intervalOf = (ms) => (ms === 200 || ms === 100 ? mounted.shift() : undefined);
  const { app } = await boot([ScheduledLockModule.forRoot({ namespace: 'default' }), ScheduleModule.forRoot()], [Jobs]);
  locks = app.get(ScheduledLockService);
  for (const [name, job] of app.get(SchedulerRegistry).getCronJobs()) job.addCallback(() => counted(name));
  const timer = setIntervalOfNode(report, 500);
  watchClock();
  process.once('message', async () => {
    clearInterval(timer);
    process.send({ firesBeforeClose: { ...fires } });
    await app.close();
    report();
    // Ends the process once all is sent.
    process.send({ closed: true }, () => process.exit(0));
  });
}
void main();
