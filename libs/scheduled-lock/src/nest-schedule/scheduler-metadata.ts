import type { CronOptions } from '../jobs/cron-slot';

// Names under which @nestjs/schedule keeps its metadata; equal in all versions of the peer range.
const TYPE = 'SCHEDULER_TYPE';
const CRON = 'SCHEDULE_CRON_OPTIONS';
const TIMEOUT = 'SCHEDULE_TIMEOUT_OPTIONS';
const INTERVAL = 'SCHEDULE_INTERVAL_OPTIONS';

/** Returns true if `@Cron`, `@Interval` or `@Timeout` is applied to a method. */
export function isScheduled(method: object): boolean {
  return Reflect.hasMetadata(TYPE, method);
}

/**
 * Returns true if two of them do. Two of one kind, directly above one another, cannot be told from one: the upper overwrites
 * what the lower left. A decorator that copies metadata makes no second one: what it copied is the same object.
 *
 * @param method what Nest schedules: what `@ScheduledLock` made of `original`, or a wrapper of it
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

export function intervalMs(method: object): number | undefined {
  return (Reflect.getMetadata(INTERVAL, method) as { timeout: number } | undefined)?.timeout;
}

export function isTimeout(method: object): boolean {
  return Reflect.hasMetadata(TIMEOUT, method);
}
