import type { InjectionToken } from '@nestjs/common';
import { DiscoveryService, ExternalContextCreator, MetadataScanner, type ModulesContainer } from '@nestjs/core';

/** Providers of Nest with which luanest finds decorated handler methods and calls them. */
export const EXPLORER_PARTS = [DiscoveryService, MetadataScanner, ExternalContextCreator] as const;

export type Method = (...args: unknown[]) => unknown;

export type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** Returns how many modules of the app provide this token. */
export function timesProvided(modules: ModulesContainer, provider: InjectionToken): number {
  return [...modules.values()].filter(({ providers }) => providers.has(provider)).length;
}

/** Returns the prototype of a provider's instance. Nest may not have created the instance yet; then returns the prototype of the class. */
export function prototypeOf({ instance, metatype }: Wrapper): object | undefined {
  const object = instance as unknown;
  if (typeof object === 'object' && object !== null) {
    return (Object.getPrototypeOf(object) as object | null) ?? undefined;
  }
  return typeof metatype === 'function' ? (metatype.prototype as object | undefined) : undefined;
}

/** Returns a method by its name, also an inherited one; undefined if there is none. Never calls a getter. */
export function methodOf(prototype: object, name: string): Method | undefined {
  for (let at: object | null = prototype; at; at = Object.getPrototypeOf(at) as object | null) {
    const descriptor = Object.getOwnPropertyDescriptor(at, name);
    if (descriptor) return typeof descriptor.value === 'function' ? (descriptor.value as Method) : undefined;
  }
  return undefined;
}

/**
 * Makes a callback look to Nest like a decorated method: gives it the name and the metadata of the method. Nest then applies the guards,
 * pipes, interceptors and filters of the method to the callback.
 *
 * @param method function with the metadata. It becomes the prototype of the callback
 * @returns the callback
 */
export function disguise(callback: Method, method: object, name: string): Method {
  Object.setPrototypeOf(callback, method);
  Object.defineProperty(callback, 'name', { value: name });
  return callback;
}
