import type { CronOptions } from '../jobs/cron-slot';

// Names under which @nestjs/schedule keeps its metadata; equal in all versions of the peer range.
const TYPE = 'SCHEDULER_TYPE';
const CRON = 'SCHEDULE_CRON_OPTIONS';
const TIMEOUT = 'SCHEDULE_TIMEOUT_OPTIONS';
const INTERVAL = 'SCHEDULE_INTERVAL_OPTIONS';

/** Whether `@Cron`, `@Interval` or `@Timeout` stands on a method. */
export function isScheduled(method: object): boolean {
  return Reflect.hasMetadata(TYPE, method);
}

/**
 * Whether two of them do. Two of one kind, directly above one another, cannot be told from one: the upper overwrites
 * what the lower left.
 *
 * @param wrapper what `@ScheduledLock` made of `original`
 */
export function hasTwoSchedulers(wrapper: object, original: object): boolean {
  const kinds = [CRON, TIMEOUT, INTERVAL].filter((key) => Reflect.hasMetadata(key, wrapper));
  const aboveAndBelow = Reflect.hasOwnMetadata(TYPE, wrapper) && Reflect.hasOwnMetadata(TYPE, original);
  return kinds.length > 1 || aboveAndBelow;
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
