import type { ExploredMethod } from '../../../internal/src';
import { isHandler } from '../handlers/handler-metadata';
import { lockedMethod, lockedMethodNames, type LockedMethod } from '../scheduled-lock.decorator';
import { ScheduledLockInterceptor } from '../scheduled-lock.interceptor';
import { isScheduled } from './scheduler-metadata';

export interface Candidate extends ExploredMethod {
  readonly lock: LockedMethod | undefined;
  /** True if `@ScheduledLock` decorates a method of this name in the class or a base class. The method may have been overridden. */
  readonly named: boolean;
  readonly scheduled: boolean;
  /** True for a method that handles requests, messages or events, and is not scheduled. */
  readonly handler: boolean;
  readonly intercepted: boolean;
}

const INTERCEPTORS = '__interceptors__';

export function candidateOf(found: ExploredMethod): Candidate {
  const { prototype, name, method } = found;
  return {
    ...found,
    lock: lockedMethod(method),
    named: lockedMethodNames(prototype).includes(name),
    scheduled: isScheduled(method),
    handler: isHandler(method),
    intercepted: [method, prototype.constructor].some((target) => usesInterceptor(target)),
  };
}

function usesInterceptor(target: object): boolean {
  const used = (Reflect.getMetadata(INTERCEPTORS, target) ?? []) as unknown[];
  return used.some((one) => one === ScheduledLockInterceptor || one instanceof ScheduledLockInterceptor);
}
