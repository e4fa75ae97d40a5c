import { isUndecorated, methodDecorator, MethodService, SetupError } from '../../internal/src';
import { isHandler } from './handlers/handler-metadata';
import { ScheduledLockService } from './scheduled-lock.service';
import type { ScheduledLockOptions } from './scheduled-lock.types';

const LOCKED = 'luanest:scheduled-lock';
const LOCKED_METHODS = 'luanest:scheduled-lock-methods';

type Method = (this: object, ...args: unknown[]) => unknown;

/** Brings ScheduledLockService into the objects that have methods with `@ScheduledLock`. */
export const lockService = new MethodService(ScheduledLockService, 'ScheduledLockModule');

export interface LockedMethod {
  readonly options: ScheduledLockOptions;
  readonly original: Method;
}

/**
 * Makes each scheduled run of a job of `@nestjs/schedule` happen on one node only: the one that claims the run in Redis. If the call to
 * Redis fails, the option `onRedisError` decides. Put `@ScheduledLock` above or below `@Cron`, `@Interval` or `@Timeout`.
 *
 * On an HTTP or RPC handler, the decorator sets the options for `ScheduledLockInterceptor`.
 *
 * The decorated method calls `ScheduledLockService.run`. If Nest did not create the object, the method throws a SetupError. In unit tests,
 * create the object with `undecorated()` of `luanest/testing`; then the method runs without a lock.
 *
 * @param options options of the job. Default: the options of the module, with the name `Class.method`. If a value is invalid, the app does
 *   not start
 * @throws InvalidOptionError if the options are not an object, or if the decorated member is not an instance method; SetupError if
 *   `@ScheduledLock` decorates the same method twice
 *
 * @example `@ScheduledLock({ name: 'report' }) @Cron('0 6 * * *') async report() { await sendReport(); }`
 */
export function ScheduledLock(options: ScheduledLockOptions = {}): MethodDecorator {
  return methodDecorator('@ScheduledLock', ({ checks, target, key, method, descriptor }) => {
    checks.object('', options);
    if (lockedMethod(method))
      throw new SetupError(`${checks.where}: @ScheduledLock() is used twice on this method. Remove one of them.`);
    descriptor.value = lockedForm(target, key, method, options, checks.where);
  });
}

/** Returns the method that runs `original` under the lock. See DECISIONS.md: decorator-replaces-the-method */
function lockedForm(
  target: object,
  key: string | symbol,
  original: Method,
  options: ScheduledLockOptions,
  where: string,
): Method {
  const serviceOf = lockService.injectInto(target, where);
  const wrapper: Method = function (this: object, ...args) {
    if (isUndecorated(this)) return original.apply(this, args);
    const service = serviceOf(this);
    const method = Reflect.get(this, key) as Method;
    // ScheduledLockInterceptor has acquired the lock for a handler already.
    if (isHandler(method)) return original.apply(this, args);
    const name = jobNameOf(lockedMethod(method)?.options ?? options, this.constructor.name, key);
    return service
      .run(name, () => original.apply(this, args), { tick: true })
      .then((result) => (result.ran ? result.value : undefined));
  };
  // Reflect.getMetadata also searches prototypes. So the new method has the metadata of the decorators below this one.
  Object.setPrototypeOf(wrapper, original);
  Object.defineProperty(wrapper, 'name', { value: original.name, configurable: true });
  Object.defineProperty(wrapper, 'length', { value: original.length, configurable: true });
  Reflect.defineMetadata(LOCKED, { options, original } satisfies LockedMethod, wrapper);
  const names = (Reflect.getMetadata(LOCKED_METHODS, target) ?? []) as string[];
  Reflect.defineMetadata(LOCKED_METHODS, [...names, String(key)], target);
  return wrapper;
}

/** Returns the name of a job: the option `name`, or `Class.method` without it. */
export function jobNameOf({ name }: ScheduledLockOptions, type: string, method: string | symbol): string {
  return name ?? `${type}.${String(method)}`;
}

/**
 * Returns the metadata of `@ScheduledLock` on a method; undefined without the decorator. Also works for a wrapper of another decorator, if
 * that decorator has copied the metadata to its wrapper.
 */
export function lockedMethod(method: object): LockedMethod | undefined {
  return Reflect.getMetadata(LOCKED, method) as LockedMethod | undefined;
}

export function lockedMethodNames(prototype: object): readonly string[] {
  return (Reflect.getMetadata(LOCKED_METHODS, prototype) ?? []) as string[];
}
