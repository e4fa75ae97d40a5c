import { Inject } from '@nestjs/common';
import { methodDecorator } from '../../internal/src';
import { ScheduledLockSetupError } from './scheduled-lock.errors';
import type { ScheduledLockService } from './scheduled-lock.service';
import type { ScheduledLockOptions } from './scheduled-lock.types';

/** Injection token under which decorated classes ask for the service, and the property where an instance has it. */
export const SCHEDULED_LOCK_HOST = Symbol('ScheduledLockModule.forRoot()');

const LOCKED = 'luanest:scheduled-lock';
const LOCKED_METHODS = 'luanest:scheduled-lock-methods';

type Method = (this: object, ...args: unknown[]) => unknown;

/** What the decorator left on a method. */
export interface LockedMethod {
  readonly options: ScheduledLockOptions;
  readonly original: Method;
}

/**
 * Lets a job of `@nestjs/schedule` run on one node for each tick. Put it above or below `@Cron`, `@Interval` or `@Timeout`.
 *
 * On an HTTP or RPC handler it sets the options that `ScheduledLockInterceptor` uses.
 *
 * @param options default: the module's, under the name `Class.method`
 * @throws InvalidOptionError for options that are not an object, and on anything but an instance method;
 *   ScheduledLockSetupError where it is used twice on one method
 */
export function ScheduledLock(options: ScheduledLockOptions = {}): MethodDecorator {
  return methodDecorator('@ScheduledLock', ({ checks, target, key, method, descriptor }) => {
    checks.object('', options);
    if (lockedMethod(method))
      throw new ScheduledLockSetupError(`${checks.where}: it is used twice. Leave one of them out.`);
    descriptor.value = lockedForm(target, key, method, options, checks.where);
  });
}

// See DECISIONS.md: decorator-replaces-the-method
/** The method that takes the place of `original`. */
function lockedForm(
  target: object,
  key: string | symbol,
  original: Method,
  options: ScheduledLockOptions,
  where: string,
): Method {
  const host = Symbol(`${where} needs ScheduledLockModule.forRoot()`);
  // Nest refuses to build the class where the module is missing, and prints the symbol.
  Inject(SCHEDULED_LOCK_HOST)(target, host);
  const wrapper: Method = function (this: object, ...args) {
    const services = this as Record<symbol, ScheduledLockService | undefined>;
    const service = services[host] ?? services[SCHEDULED_LOCK_HOST];
    if (service) return service.call(this, String(key), original, args);
    throw new ScheduledLockSetupError(
      `${where}: this instance has no lock. Get it from an app that imports ScheduledLockModule.forRoot(); ` +
        'in a unit test, move the work into a method without the decorator and call that one.',
    );
  };
  // Metadata is looked up along the prototypes: what is below is inherited, what is above is set on the wrapper.
  Object.setPrototypeOf(wrapper, original);
  Object.defineProperty(wrapper, 'name', { value: original.name, configurable: true });
  Object.defineProperty(wrapper, 'length', { value: original.length, configurable: true });
  Reflect.defineMetadata(LOCKED, { options, original } satisfies LockedMethod, wrapper);
  const names = (Reflect.getMetadata(LOCKED_METHODS, target) ?? []) as string[];
  Reflect.defineMetadata(LOCKED_METHODS, [...names, String(key)], target);
  return wrapper;
}

/** What `@ScheduledLock` left on a function, which a decorator above it may have copied; undefined where it was not used. */
export function lockedMethod(method: object): LockedMethod | undefined {
  return Reflect.getMetadata(LOCKED, method) as LockedMethod | undefined;
}

/** Names of the methods of a prototype that carry `@ScheduledLock`. */
export function lockedMethodNames(prototype: object): readonly string[] {
  return (Reflect.getMetadata(LOCKED_METHODS, prototype) ?? []) as string[];
}
