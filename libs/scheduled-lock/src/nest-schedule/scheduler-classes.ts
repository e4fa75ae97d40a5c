// The classes of `@nestjs/schedule` are recognised by their methods. This lib does not import the package, the package does not export its
// explorer, and a minifier renames classes but not methods.
const EXPLORER = ['explore', 'lookupSchedulers', 'wrapFunctionInTryCatchBlocks'];
const REGISTRY = ['getCronJobs', 'addCronJob', 'getIntervals', 'addInterval', 'getTimeouts', 'addTimeout'];

function hasAll(token: unknown, methods: readonly string[]): boolean {
  if (typeof token !== 'function') return false;
  const prototype: unknown = token.prototype;
  return typeof prototype === 'object' && prototype !== null && methods.every((name) => Object.hasOwn(prototype, name));
}

/** Returns true for the class of `@nestjs/schedule` that finds decorated methods. Each `ScheduleModule.forRoot()` has one instance. */
export function isScheduleExplorer(token: unknown): boolean {
  return hasAll(token, EXPLORER);
}

/** Returns true for the class SchedulerRegistry. Its instance has the cron jobs, intervals and timeouts. */
export function isSchedulerRegistry(token: unknown): boolean {
  return hasAll(token, REGISTRY);
}
