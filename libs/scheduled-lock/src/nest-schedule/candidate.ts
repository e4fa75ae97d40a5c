import type { ExploredMethod } from '../../../internal/src';
import { lockedMethod, lockedMethodNames, type LockedMethod } from '../scheduled-lock.decorator';
import { ScheduledLockInterceptor } from '../scheduled-lock.interceptor';
import { isScheduled } from './scheduler-metadata';

/** What boot knows of one method of one provider. */
export interface Candidate extends ExploredMethod {
  readonly lock: LockedMethod | undefined;
  /** Whether `@ScheduledLock` was put on a method of this name, although it may not be this one. */
  readonly named: boolean;
  readonly scheduled: boolean;
  /** Whether it is a handler of requests, messages or events. */
  readonly handler: boolean;
  /** Whether `ScheduledLockInterceptor` is used on it or on its class. */
  readonly intercepted: boolean;
}

const INTERCEPTORS = '__interceptors__';
const HANDLERS = ['path', 'microservices:pattern', 'microservices:handler_type'];

/** Reads what decorators left on a method and on its class. */
export function candidateOf(found: ExploredMethod): Candidate {
  const { prototype, name, method } = found;
  return {
    ...found,
    lock: lockedMethod(method),
    named: lockedMethodNames(prototype).includes(name),
    scheduled: isScheduled(method),
    handler: HANDLERS.some((key) => Reflect.hasMetadata(key, method)),
    intercepted: [method, prototype.constructor].some((place) => usesInterceptor(place)),
  };
}

function usesInterceptor(place: object): boolean {
  const used = (Reflect.getMetadata(INTERCEPTORS, place) ?? []) as unknown[];
  return used.some((one) => one === ScheduledLockInterceptor || one instanceof ScheduledLockInterceptor);
}
