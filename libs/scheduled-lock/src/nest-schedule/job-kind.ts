import type { JobKind } from '../jobs/job';
import { LiveCron, type CronJobs } from './live-cron';
import { cronOptions, intervalMs, isTimeout } from './scheduler-metadata';

/** Returns the kind of a decorated method. @param registries returns the instances of SchedulerRegistry in the app */
export function kindOf(method: object, registries: () => readonly CronJobs[]): JobKind {
  const cron = cronOptions(method);
  if (cron) return { type: 'cron', live: new LiveCron(cron, registries) };
  const periodMs = intervalMs(method);
  if (periodMs !== undefined) return { type: 'interval', periodMs };
  return { type: isTimeout(method) ? 'timeout' : 'handler' };
}
