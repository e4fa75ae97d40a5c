import type { DiscoveryService } from '@nestjs/core';
import { lockedMethod, lockedMethodNames, type LockedMethod } from '../scheduled-lock.decorator';
import { ScheduledLockInterceptor } from '../scheduled-lock.interceptor';
import { isScheduled } from './scheduler-metadata';

export type Method = ((...args: unknown[]) => unknown) & object;
export type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** What boot knows of one method of one provider. */
export interface Candidate {
  readonly wrapper: Wrapper;
  readonly prototype: object;
  readonly name: string;
  readonly method: Method;
  /** `Class.method`. */
  readonly where: string;
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

/** @returns undefined when `name` is no method */
export function candidateOf(wrapper: Wrapper, prototype: object, name: string): Candidate | undefined {
  const method = methodOf(prototype, name);
  if (!method) return undefined;
  return {
    wrapper,
    prototype,
    name,
    method,
    where: `${prototype.constructor.name}.${name}`,
    lock: lockedMethod(method),
    named: lockedMethodNames(prototype).includes(name),
    scheduled: isScheduled(method),
    handler: HANDLERS.some((key) => Reflect.hasMetadata(key, method)),
    intercepted: [method, prototype.constructor].some((place) => usesInterceptor(place)),
  };
}

/** The prototype of what a provider is, or will be. */
export function prototypeOf({ instance, metatype }: Wrapper): object | undefined {
  const object = instance as object | null | undefined;
  if (object !== null && object !== undefined && typeof object === 'object') {
    return (Object.getPrototypeOf(object) as object | null) ?? undefined;
  }
  return typeof metatype === 'function' ? (metatype.prototype as object | undefined) : undefined;
}

/** Looks without calling getters. */
function methodOf(prototype: object, name: string): Method | undefined {
  for (let at: object | null = prototype; at; at = Object.getPrototypeOf(at) as object | null) {
    const descriptor = Object.getOwnPropertyDescriptor(at, name);
    if (descriptor) return typeof descriptor.value === 'function' ? (descriptor.value as Method) : undefined;
  }
  return undefined;
}

function usesInterceptor(place: object): boolean {
  const used = (Reflect.getMetadata(INTERCEPTORS, place) ?? []) as unknown[];
  return used.some((one) => one === ScheduledLockInterceptor || one instanceof ScheduledLockInterceptor);
}
