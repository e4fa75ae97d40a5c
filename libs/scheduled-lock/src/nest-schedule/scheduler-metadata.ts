import type { CronOptions } from '../jobs/cron-slot';

// Metadata keys of @nestjs/schedule. They are the same in all versions that luanest supports.
const TYPE = 'SCHEDULER_TYPE';
const CRON = 'SCHEDULE_CRON_OPTIONS';
const TIMEOUT = 'SCHEDULE_TIMEOUT_OPTIONS';
const INTERVAL = 'SCHEDULE_INTERVAL_OPTIONS';

export function isScheduled(method: object): boolean {
  return Reflect.hasMetadata(TYPE, method);
}

/**
 * Returns true if two of `@Cron`, `@Interval` and `@Timeout` decorate a method. Does not find two of the same kind directly above each
 * other, because the upper one overwrites the metadata of the lower one. Metadata that another decorator has copied does not count twice.
 *
 * @param method the method that Nest schedules: the wrapper of `@ScheduledLock` around `original`, or a wrapper around that wrapper
 */
export function hasTwoSchedulers(method: object, original: object): boolean {
  const kinds = [CRON, TIMEOUT, INTERVAL].filter((key) => Reflect.hasMetadata(key, method));
  const differs = (key: string): boolean =>
    Reflect.hasMetadata(key, original) && Reflect.getMetadata(key, original) !== Reflect.getMetadata(key, method);
  return kinds.length > 1 || kinds.some(differs);
}

export function cronOptions(method: object): CronOptions | undefined {
  return Reflect.getMetadata(CRON, method) as CronOptions | undefined;
}

/** Returns the period of `@Interval`, ms; undefined if the method has no `@Interval`. */
export function intervalMs(method: object): number | undefined {
  return (Reflect.getMetadata(INTERVAL, method) as { timeout: number } | undefined)?.timeout;
}

export function isTimeout(method: object): boolean {
  return Reflect.hasMetadata(TIMEOUT, method);
}
