import { latestSlot, zoneOf, type CronOptions, type CronTimes } from '../jobs/cron-slot';
import type { JobKind } from '../jobs/job';
import { ScheduledLockSetupError } from '../scheduled-lock.errors';
import { cronOptions, intervalMs, isTimeout } from './scheduler-metadata';

/** What is asked of the SchedulerRegistry. */
export interface CronJobs {
  getCronJobs(): Map<string, { readonly cronTime: object }>;
}

/** How the slots of a decorated method are found. @param registries the app's SchedulerRegistry, in a list */
export function kindOf(method: object, registries: () => readonly CronJobs[]): JobKind {
  const cron = cronOptions(method);
  if (cron) {
    const zone = zoneOf(cron);
    let times: CronTimes | undefined;
    const slotNow = async (): Promise<number> => {
      const now = Date.now();
      if (times === undefined) {
        // A job that is late when it is made fires before the scheduler has registered it, in the same turn.
        await Promise.resolve();
        times = cronTimes(cron, registries());
      }
      return latestSlot(times, now, zone);
    };
    return { type: 'cron', slotNow };
  }
  const periodMs = intervalMs(method);
  if (periodMs !== undefined) return { type: 'interval', periodMs };
  return { type: isTimeout(method) ? 'timeout' : 'handler' };
}

/** A CronTime of the scheduler's own cron package, found through a job that it registered: ours at the latest. */
function cronTimes({ cronTime, timeZone, utcOffset }: CronOptions, registries: readonly CronJobs[]): CronTimes {
  for (const registry of registries) {
    for (const { cronTime: known } of registry.getCronJobs().values()) {
      const CronTime = known.constructor as new (source: unknown, zone?: unknown, offset?: unknown) => CronTimes;
      return new CronTime(cronTime, timeZone ?? null, timeZone === undefined ? (utcOffset ?? null) : null);
    }
  }
  throw new ScheduledLockSetupError(
    'The scheduler has no cron job, so the slot of this call is not known. Call it between bootstrap and shutdown.',
  );
}
