import type { InjectionToken } from '@nestjs/common';
import { DiscoveryService, ExternalContextCreator, MetadataScanner, type ModulesContainer } from '@nestjs/core';

/** What the explorer of a lib's decorated handlers is made of, before anything of its own. */
export const EXPLORER_PARTS = [DiscoveryService, MetadataScanner, ExternalContextCreator] as const;

/** A method as it is called. */
export type Method = (...args: unknown[]) => unknown;

/** What Nest knows of a provider or controller. */
export type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** How many modules provide a class: each `forRoot()` of a lib makes one more. */
export function timesProvided(modules: ModulesContainer, provider: InjectionToken): number {
  return [...modules.values()].filter(({ providers }) => providers.has(provider)).length;
}

/** The prototype of what a provider is, or will be. */
export function prototypeOf({ instance, metatype }: Wrapper): object | undefined {
  const object = instance as unknown;
  if (typeof object === 'object' && object !== null) {
    return (Object.getPrototypeOf(object) as object | null) ?? undefined;
  }
  return typeof metatype === 'function' ? (metatype.prototype as object | undefined) : undefined;
}

/** The method of a name, its own or inherited; looks without calling getters. */
export function methodOf(prototype: object, name: string): Method | undefined {
  for (let at: object | null = prototype; at; at = Object.getPrototypeOf(at) as object | null) {
    const descriptor = Object.getOwnPropertyDescriptor(at, name);
    if (descriptor) return typeof descriptor.value === 'function' ? (descriptor.value as Method) : undefined;
  }
  return undefined;
}

/** Makes a callback that Nest takes for the method: enhancers are found by its name, and by metadata along the prototypes. */
export function disguise(callback: Method, method: object, name: string): Method {
  Object.setPrototypeOf(callback, method);
  Object.defineProperty(callback, 'name', { value: name });
  return callback;
}
