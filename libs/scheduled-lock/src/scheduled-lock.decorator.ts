import { InjectService, methodDecorator, missingService, serviceOf, SetupError } from '../../internal/src';
import { isHandler } from './handlers/handler-metadata';
import { ScheduledLockService } from './scheduled-lock.service';
import type { RunNowResult, ScheduledLockOptions } from './scheduled-lock.types';

const LOCKED = 'luanest:scheduled-lock';
const LOCKED_METHODS = 'luanest:scheduled-lock-methods';

type Method = (this: object, ...args: unknown[]) => unknown;

const MISSING = { service: 'ScheduledLockService', method: 'run', module: 'ScheduledLockModule' };

export interface LockedMethod {
  readonly options: ScheduledLockOptions;
  readonly original: Method;
}

/**
 * Lets a job of `@nestjs/schedule` run only on the node that claims the tick in Redis; if the claim fails, `onRedisError` decides. Put
 * it above or below `@Cron`, `@Interval` or `@Timeout`.
 *
 * On an HTTP or RPC handler, it sets the options for `ScheduledLockInterceptor`.
 *
 * The method calls `ScheduledLockService.run`. On an object without this service it throws a SetupError, unless the
 * process has imported `luanest/testing`: then it runs as it is.
 *
 * @param options options of the job. Default: those of the module, with the name `Class.method`. Invalid values are refused when
 *   the app boots
 * @throws InvalidOptionError if the options are not an object, or if it does not decorate an instance method;
 *   SetupError if it decorates the same method twice
 */
export function ScheduledLock(options: ScheduledLockOptions = {}): MethodDecorator {
  return methodDecorator('@ScheduledLock', ({ checks, target, key, method, descriptor }) => {
    checks.object('', options);
    if (lockedMethod(method))
      throw new SetupError(`${checks.where}: @ScheduledLock() is used twice on this method. Remove one of them.`);
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
  // If the module is missing, Nest refuses to create the class, and its error shows the text of this symbol.
  const host = Symbol(`${where} needs ScheduledLockModule.forRoot()`);
  InjectService(ScheduledLockService)(target, host);
  const wrapper: Method = function (this: object, ...args) {
    const service = serviceOf(this, host, ScheduledLockService);
    if (!service?.run) {
      const problem = missingService({ ...MISSING, where });
      if (problem !== undefined) throw new SetupError(problem);
      return original.apply(this, args);
    }
    const method = Reflect.get(this, key) as Method;
    // ScheduledLockInterceptor locks the requests of a handler.
    if (isHandler(method)) return original.apply(this, args);
    const name = jobNameOf(lockedMethod(method)?.options ?? options, this.constructor.name, key);
    const run = service.run(name, () => original.apply(this, args), { tick: true, args });
    // A mock may return nothing.
    return Promise.resolve<RunNowResult | undefined>(run).then((result) => (result?.ran ? result.value : undefined));
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

/** Returns the name of a job: the option `name`, else `Class.method`. */
export function jobNameOf({ name }: ScheduledLockOptions, type: string, method: string | symbol): string {
  return name ?? `${type}.${String(method)}`;
}

/** Returns the metadata that `@ScheduledLock` set on a method, or that a decorator above it copied; undefined without the decorator. */
export function lockedMethod(method: object): LockedMethod | undefined {
  return Reflect.getMetadata(LOCKED, method) as LockedMethod | undefined;
}

export function lockedMethodNames(prototype: object): readonly string[] {
  return (Reflect.getMetadata(LOCKED_METHODS, prototype) ?? []) as string[];
}
