import type { INestApplicationContext } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { time, type Timer } from '../../../internal/src';

/** The part of a job of the cron package that this file uses. */
interface CronJob {
  readonly cronTime: {
    getNextDateFrom(start: Date, zone?: string): { toMillis(): number };
    readonly timeZone?: string;
  };
  readonly isActive: boolean;
  lastExecution: Date | null;
  start(): void;
  stop(): unknown;
  fireOnTick(): unknown;
}

/** A method with `@Interval` or `@Timeout`. */
interface TimedMethod {
  readonly target: () => unknown;
  readonly timeout: number;
  ref: NodeJS.Timeout;
}

/** The part of the SchedulerOrchestrator of `@nestjs/schedule` that this file uses. Each `ScheduleModule.forRoot()` has one. */
interface Orchestrator {
  readonly schedulerRegistry: { getCronJobs(): Map<string, CronJob> };
  readonly intervals: Readonly<Record<string, TimedMethod>>;
  readonly timeouts: Readonly<Record<string, TimedMethod>>;
}

/** Jobs and methods that live by the clock already. */
const adopted = new WeakSet<object>();

/**
 * Makes the jobs of `@Cron`, `@Interval` and `@Timeout` of an app live by the installed TestClock. Call it after `app.init()`, and
 * again after cron jobs were added. Jobs that live by the clock already stay as they are. Other timers of SchedulerRegistry, and
 * the option `initialDelay`, count real time.
 *
 * A cron job whose times have passed several times in one jump of the clock runs once.
 */
export function scheduleByClock(app: INestApplicationContext): void {
  for (const orchestrator of orchestratorsOf(app.get(ModulesContainer))) {
    for (const job of orchestrator.schedulerRegistry.getCronJobs().values()) once(job, adoptCron);
    for (const method of Object.values(orchestrator.intervals)) once(method, adoptInterval);
    for (const method of Object.values(orchestrator.timeouts)) once(method, adoptTimeout);
  }
}

function once<T extends object>(found: T, adopt: (found: T) => void): void {
  if (adopted.has(found)) return;
  adopted.add(found);
  adopt(found);
}

// The package does not export the class, and a minifier may rename it, so it is recognised by its methods.
function orchestratorsOf(modules: ModulesContainer): Orchestrator[] {
  const methods = ['mountCron', 'mountIntervals', 'mountTimeouts'];
  const found = [...modules.values()].flatMap(({ providers }) => [...providers.values()]);
  const instances = found.map(({ instance }) => instance as Partial<Record<string, unknown>> | undefined);
  const ours = instances.filter(
    (one) => one !== undefined && methods.every((name) => typeof one?.[name] === 'function'),
  );
  return [...new Set(ours)] as unknown as Orchestrator[];
}

function adoptCron(job: CronJob): void {
  const wasActive = job.isActive;
  const stopReal = job.stop.bind(job);
  let timer: Timer | undefined;
  const start = (): void => {
    if (timer !== undefined) return;
    const now = time.nowMs();
    const at = job.cronTime.getNextDateFrom(new Date(now), job.cronTime.timeZone).toMillis();
    timer = time.setTimer(() => {
      timer = undefined;
      job.lastExecution = new Date(time.nowMs());
      start();
      void job.fireOnTick();
    }, at - now);
  };
  stopReal();
  Object.defineProperties(job, {
    // The field behind `isActive`, which `setTime` reads, too. Methods of the class write it.
    _isActive: { get: () => timer !== undefined, set: () => undefined, configurable: true },
    start: { value: start, configurable: true },
    stop: {
      value: () => {
        time.clearTimer(timer);
        timer = undefined;
        return stopReal();
      },
      configurable: true,
    },
  });
  if (wasActive) start();
}

function adoptInterval(method: TimedMethod): void {
  clearInterval(method.ref);
  time.setRepeatingTimer(() => void method.target(), method.timeout);
}

function adoptTimeout(method: TimedMethod): void {
  clearTimeout(method.ref);
  time.setTimer(() => void method.target(), method.timeout);
}
