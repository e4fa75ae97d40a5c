import type { InjectionToken } from '@nestjs/common';
import { DiscoveryService, ExternalContextCreator, MetadataScanner, type ModulesContainer } from '@nestjs/core';

/** Providers of Nest that are needed to find decorated handlers and to call them. */
export const EXPLORER_PARTS = [DiscoveryService, MetadataScanner, ExternalContextCreator] as const;

export type Method = (...args: unknown[]) => unknown;

export type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** Returns how many modules have a provider. */
export function timesProvided(modules: ModulesContainer, provider: InjectionToken): number {
  return [...modules.values()].filter(({ providers }) => providers.has(provider)).length;
}

/** Returns the prototype of a provider's instance; before the instance exists, the prototype of its class. */
export function prototypeOf({ instance, metatype }: Wrapper): object | undefined {
  const object = instance as unknown;
  if (typeof object === 'object' && object !== null) {
    return (Object.getPrototypeOf(object) as object | null) ?? undefined;
  }
  return typeof metatype === 'function' ? (metatype.prototype as object | undefined) : undefined;
}

/** Returns the method with this name, own or inherited; undefined if no method has it. Getters are not called. */
export function methodOf(prototype: object, name: string): Method | undefined {
  for (let at: object | null = prototype; at; at = Object.getPrototypeOf(at) as object | null) {
    const descriptor = Object.getOwnPropertyDescriptor(at, name);
    if (descriptor) return typeof descriptor.value === 'function' ? (descriptor.value as Method) : undefined;
  }
  return undefined;
}

/**
 * Gives a callback the name of a method, and the metadata of its decorators: Nest finds the guards, pipes, interceptors and
 * filters of a function in its metadata, also in that of its prototypes.
 *
 * @param method function that has the metadata; becomes the prototype of the callback
 * @returns the callback
 */
export function disguise(callback: Method, method: object, name: string): Method {
  Object.setPrototypeOf(callback, method);
  Object.defineProperty(callback, 'name', { value: name });
  return callback;
}
