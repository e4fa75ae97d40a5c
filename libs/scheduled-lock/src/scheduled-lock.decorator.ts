import { Inject } from '@nestjs/common';
import { checkObject } from '../../script-registry/src/shared/checks';
import type { ScheduledLockService } from './scheduled-lock.service';
import type { ScheduledLockOptions } from './scheduled-lock.types';

/** Injection token under which decorated classes ask for the service. */
export const SCHEDULED_LOCK_HOST = Symbol('ScheduledLockModule.forRoot()');

const LOCKED = 'luanest:scheduled-lock';
const LOCKED_METHODS = 'luanest:scheduled-lock-methods';

type Method = (this: object, ...args: unknown[]) => unknown;

/** What the decorator left on a method. */
export interface LockedMethod {
  readonly options: ScheduledLockOptions;
  readonly original: Method;
  /** Property under which an instance has the service. */
  readonly host: symbol;
}

/**
 * Lets a job of `@nestjs/schedule` run on one node for each tick; stands above or below `@Cron`, `@Interval` or `@Timeout`.
 *
 * On an HTTP or RPC handler it sets the options that `ScheduledLockInterceptor` uses.
 *
 * @param options default: the module's, under the name `Class.method`
 * @throws InvalidOptionError for options that are no object
 */
export function ScheduledLock(options: ScheduledLockOptions = {}): MethodDecorator {
  return (target, key, descriptor: PropertyDescriptor) => {
    const original = descriptor.value as Method;
    const where = `${target.constructor.name}.${String(key)}`;
    checkObject(`@ScheduledLock() on ${where}`, options);
    const host = Symbol(`@ScheduledLock on ${where} needs ScheduledLockModule.forRoot()`);
    // Nest refuses to build the class where the module is missing, and prints the symbol.
    Inject(SCHEDULED_LOCK_HOST)(target, host);
    const wrapper: Method = function (this: object, ...args) {
      const service = (this as Record<symbol, ScheduledLockService | undefined>)[host];
      if (!service) throw new Error(String(host.description));
      return service.call(this, String(key), original, args);
    };
    // Metadata is looked up along the prototypes: what stands below is inherited, what stands above is set on the wrapper.
    Object.setPrototypeOf(wrapper, original);
    Object.defineProperty(wrapper, 'name', { value: original.name, configurable: true });
    Object.defineProperty(wrapper, 'length', { value: original.length, configurable: true });
    Reflect.defineMetadata(LOCKED, { options, original, host } satisfies LockedMethod, wrapper);
    const names = (Reflect.getMetadata(LOCKED_METHODS, target) ?? []) as string[];
    Reflect.defineMetadata(LOCKED_METHODS, [...names, String(key)], target);
    descriptor.value = wrapper;
  };
}

/** What `@ScheduledLock` left on a function; undefined where it was not used. */
export function lockedMethod(method: object): LockedMethod | undefined {
  return Reflect.getMetadata(LOCKED, method) as LockedMethod | undefined;
}

/** Names of the methods of a prototype that carry `@ScheduledLock`. */
export function lockedMethodNames(prototype: object): readonly string[] {
  return (Reflect.getMetadata(LOCKED_METHODS, prototype) ?? []) as string[];
}
