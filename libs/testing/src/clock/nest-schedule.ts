import type { INestApplicationContext } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { time, type Timer } from '../../../internal/src';
import { adoptCron, type CronJob } from './cron-jobs';
import { ofJob } from './test-timers';

/** A method with `@Interval` or `@Timeout`. */
interface TimedMethod {
  readonly target: () => unknown;
  readonly timeout: number;
  ref: NodeJS.Timeout;
}

interface Jobs {
  getCronJobs(): Map<string, CronJob>;
  doesExist(kind: 'interval' | 'timeout', name: string): boolean;
  getInterval(name: string): unknown;
  getTimeout(name: string): unknown;
}

interface Orchestrator {
  readonly schedulerRegistry: Jobs;
  readonly intervals: Readonly<Record<string, TimedMethod>>;
  readonly timeouts: Readonly<Record<string, TimedMethod>>;
}

/** Jobs and methods that run by the TestClock already. */
const adopted = new WeakSet<object>();

/**
 * Makes the methods with `@Cron`, `@Interval` and `@Timeout` of an app run by the installed TestClock instead of real time. Call it after
 * `app.init()`, and again after you have added cron jobs. Other timers of SchedulerRegistry, and the option `initialDelay`, use real time.
 *
 * If one jump of the clock passes several scheduled times of a cron job, the job runs once.
 */
export function scheduleByClock(app: INestApplicationContext): void {
  for (const { schedulerRegistry, intervals, timeouts } of orchestratorsOf(app.get(ModulesContainer))) {
    for (const job of schedulerRegistry.getCronJobs().values()) once(job, () => adoptCron(job));
    for (const [name, method] of Object.entries(intervals)) {
      const exists = (): boolean => isKept(schedulerRegistry, 'interval', name, method);
      if (exists()) once(method, () => adoptInterval(method, exists));
    }
    for (const [name, method] of Object.entries(timeouts)) {
      const exists = (): boolean => isKept(schedulerRegistry, 'timeout', name, method);
      if (exists()) once(method, () => adoptTimeout(method, exists));
    }
  }
}

function once(found: object, adopt: () => void): void {
  if (adopted.has(found)) return;
  adopt();
  adopted.add(found);
}

/** Returns true if an interval or timeout is running: the scheduler has started it, and the app has not deleted it or closed. */
function isKept(jobs: Jobs, kind: 'interval' | 'timeout', name: string, { ref }: TimedMethod): boolean {
  if (!jobs.doesExist(kind, name)) return false;
  return (kind === 'interval' ? jobs.getInterval(name) : jobs.getTimeout(name)) === ref;
}

// `@nestjs/schedule` does not export this class, and a minifier may rename it, so it is recognised by its methods.
function orchestratorsOf(modules: ModulesContainer): Orchestrator[] {
  const methods = ['mountCron', 'mountIntervals', 'mountTimeouts'];
  const found = [...modules.values()].flatMap(({ providers }) => [...providers.values()]);
  const instances = found.map(({ instance }) => instance as Partial<Record<string, unknown>> | undefined);
  const ours = instances.filter(
    (one) => one !== undefined && methods.every((name) => typeof one?.[name] === 'function'),
  );
  return [...new Set(ours)] as unknown as Orchestrator[];
}

function adoptInterval(method: TimedMethod, exists: () => boolean): void {
  clearInterval(method.ref);
  const fire = (): void => {
    if (exists()) void method.target();
    else time.clearTimer(timer);
  };
  const timer: Timer = ofJob(time.setRepeatingTimer(fire, method.timeout));
}

function adoptTimeout(method: TimedMethod, exists: () => boolean): void {
  clearTimeout(method.ref);
  const fire = (): void => {
    if (exists()) void method.target();
  };
  ofJob(time.setTimer(fire, method.timeout));
}
