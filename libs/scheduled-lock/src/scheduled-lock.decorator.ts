import { Inject } from '@nestjs/common';
import { methodDecorator } from '../../internal/src';
import { ScheduledLockSetupError } from './scheduled-lock.errors';
import type { ScheduledLockService } from './scheduled-lock.service';
import type { ScheduledLockOptions } from './scheduled-lock.types';

/** Injection token of ScheduledLockService in decorated classes. Their instances also hold the service under this symbol. */
export const SCHEDULED_LOCK_HOST = Symbol('ScheduledLockModule.forRoot()');

const LOCKED = 'luanest:scheduled-lock';
const LOCKED_METHODS = 'luanest:scheduled-lock-methods';

type Method = (this: object, ...args: unknown[]) => unknown;

export interface LockedMethod {
  readonly options: ScheduledLockOptions;
  readonly original: Method;
}

/**
 * Lets a job of `@nestjs/schedule` run only on the node that claims the tick in Redis. Put it above or below `@Cron`, `@Interval`
 * or `@Timeout`.
 *
 * On an HTTP or RPC handler, it sets the options for `ScheduledLockInterceptor`.
 *
 * @param options options of the job. Default: those of the module, with the name `Class.method`. Invalid values are refused when
 *   the app boots
 * @throws InvalidOptionError if the options are not an object, or if it does not decorate an instance method;
 *   ScheduledLockSetupError if it decorates the same method twice
 */
export function ScheduledLock(options: ScheduledLockOptions = {}): MethodDecorator {
  return methodDecorator('@ScheduledLock', ({ checks, target, key, method, descriptor }) => {
    checks.object('', options);
    if (lockedMethod(method))
      throw new ScheduledLockSetupError(
        `${checks.where}: @ScheduledLock() is used twice on this method. Remove one of them.`,
      );
    descriptor.value = lockedForm(target, key, method, options, checks.where);
  });
}

/** Returns the method that replaces `original`. See DECISIONS.md: decorator-replaces-the-method */
function lockedForm(
  target: object,
  key: string | symbol,
  original: Method,
  options: ScheduledLockOptions,
  where: string,
): Method {
  const host = Symbol(`${where} needs ScheduledLockModule.forRoot()`);
  // If the module is missing, Nest refuses to create the class, and its error shows the text of this symbol.
  Inject(SCHEDULED_LOCK_HOST)(target, host);
  const wrapper: Method = function (this: object, ...args) {
    const services = this as Record<symbol, ScheduledLockService | undefined>;
    const service = services[host] ?? services[SCHEDULED_LOCK_HOST];
    if (service) return service.call(this, String(key), original, args);
    throw new ScheduledLockSetupError(
      `${where}: this instance has no ScheduledLockService. Get the instance from an app that imports ScheduledLockModule.forRoot(), ` +
        'and do not call the method in its constructor; in a unit test, move the work into a method without the decorator and call that method.',
    );
  };
  // Reflect looks metadata up along prototypes, so the wrapper has the metadata of the decorators below this one as well.
  Object.setPrototypeOf(wrapper, original);
  Object.defineProperty(wrapper, 'name', { value: original.name, configurable: true });
  Object.defineProperty(wrapper, 'length', { value: original.length, configurable: true });
  Reflect.defineMetadata(LOCKED, { options, original } satisfies LockedMethod, wrapper);
  const names = (Reflect.getMetadata(LOCKED_METHODS, target) ?? []) as string[];
  Reflect.defineMetadata(LOCKED_METHODS, [...names, String(key)], target);
  return wrapper;
}

/** Returns the metadata that `@ScheduledLock` set on a method, or that a decorator above it copied; undefined without the decorator. */
export function lockedMethod(method: object): LockedMethod | undefined {
  return Reflect.getMetadata(LOCKED, method) as LockedMethod | undefined;
}

export function lockedMethodNames(prototype: object): readonly string[] {
  return (Reflect.getMetadata(LOCKED_METHODS, prototype) ?? []) as string[];
}
