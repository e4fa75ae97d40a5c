import type { InjectionToken } from '@nestjs/common';
import { DiscoveryService, ExternalContextCreator, MetadataScanner, type ModulesContainer } from '@nestjs/core';

/** Injection tokens of the providers of Nest that find decorated handlers and call them. */
export const EXPLORER_PARTS = [DiscoveryService, MetadataScanner, ExternalContextCreator] as const;

export type Method = (...args: unknown[]) => unknown;

export type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** Returns the number of modules that have a provider. */
export function timesProvided(modules: ModulesContainer, provider: InjectionToken): number {
  return [...modules.values()].filter(({ providers }) => providers.has(provider)).length;
}

/** Returns the prototype of the instance of a provider. If there is no instance yet, returns the prototype of the class. */
export function prototypeOf({ instance, metatype }: Wrapper): object | undefined {
  const object = instance as unknown;
  if (typeof object === 'object' && object !== null) {
    return (Object.getPrototypeOf(object) as object | null) ?? undefined;
  }
  return typeof metatype === 'function' ? (metatype.prototype as object | undefined) : undefined;
}

/** Returns the method with this name; the method may be inherited. Returns undefined if there is no such method. Does not call getters. */
export function methodOf(prototype: object, name: string): Method | undefined {
  for (let at: object | null = prototype; at; at = Object.getPrototypeOf(at) as object | null) {
    const descriptor = Object.getOwnPropertyDescriptor(at, name);
    if (descriptor) return typeof descriptor.value === 'function' ? (descriptor.value as Method) : undefined;
  }
  return undefined;
}

/**
 * Gives a callback the name of a method, and the metadata of its decorators. Nest then runs the callback with the guards, pipes,
 * interceptors and filters of the method, because it finds them in the metadata of a function and of its prototypes.
 *
 * @param method function that has the metadata; becomes the prototype of the callback
 * @returns the callback
 */
export function disguise(callback: Method, method: object, name: string): Method {
  Object.setPrototypeOf(callback, method);
  Object.defineProperty(callback, 'name', { value: name });
  return callback;
}
