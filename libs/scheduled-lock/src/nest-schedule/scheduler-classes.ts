// Classes of `@nestjs/schedule` are recognised by their methods: the package is a peer that is not imported, its explorer is not
// exported, and a bundler that minifies renames classes, but not methods.
const EXPLORER = ['explore', 'lookupSchedulers', 'wrapFunctionInTryCatchBlocks'];
const REGISTRY = ['getCronJobs', 'addCronJob', 'getIntervals', 'addInterval', 'getTimeouts', 'addTimeout'];

/** Returns true for a class that itself has all the methods. */
function hasAll(token: unknown, methods: readonly string[]): boolean {
  if (typeof token !== 'function') return false;
  const prototype: unknown = token.prototype;
  return typeof prototype === 'object' && prototype !== null && methods.every((name) => Object.hasOwn(prototype, name));
}

/** Returns true for the class that schedules decorated methods. There is one for each `ScheduleModule.forRoot()`. */
export function isScheduleExplorer(token: unknown): boolean {
  return hasAll(token, EXPLORER);
}

/** Returns true for the SchedulerRegistry, which has the jobs. */
export function isSchedulerRegistry(token: unknown): boolean {
  return hasAll(token, REGISTRY);
}
