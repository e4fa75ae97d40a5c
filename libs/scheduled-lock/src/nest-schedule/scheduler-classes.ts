// The classes of `@nestjs/schedule` are known by their methods: the package is a peer that is not imported, its explorer is
// not exported, and a bundler that minifies renames classes, but no methods.
const EXPLORER = ['explore', 'lookupSchedulers', 'wrapFunctionInTryCatchBlocks'];
const REGISTRY = ['getCronJobs', 'addCronJob', 'getIntervals', 'addInterval', 'getTimeouts', 'addTimeout'];

/** A class that has each of the methods itself. */
function hasAll(token: unknown, methods: readonly string[]): boolean {
  if (typeof token !== 'function') return false;
  const prototype: unknown = token.prototype;
  return typeof prototype === 'object' && prototype !== null && methods.every((name) => Object.hasOwn(prototype, name));
}

/** The class that schedules decorated methods: one for each `ScheduleModule.forRoot()`. */
export function isScheduleExplorer(token: unknown): boolean {
  return hasAll(token, EXPLORER);
}

/** The class that knows the jobs. */
export function isSchedulerRegistry(token: unknown): boolean {
  return hasAll(token, REGISTRY);
}
