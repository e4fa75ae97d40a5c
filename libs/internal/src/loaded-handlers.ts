import { type DiscoveryService } from '@nestjs/core';
import { prototypeOf } from './handlers';

interface Loaded {
  readonly prototype: WeakRef<object>;
  readonly where: string;
}

/** All methods with a handler decorator whose class this process has loaded, by the name of the decorator. */
const loaded = new Map<string, Loaded[]>();

/**
 * Records a method that has a handler decorator, at the time when its class is loaded.
 *
 * @param decorator name of the decorator, such as `@DelayedTask`
 * @param where `Class.method`
 */
export function noteHandler(decorator: string, prototype: object, where: string): void {
  const all = loaded.get(decorator) ?? [];
  loaded.set(decorator, all);
  all.push({ prototype: new WeakRef(prototype), where });
}

/**
 * Returns the decorated handlers that will never run: their class is loaded, but it is not a provider or controller of the app. Each has
 * the form `Class.method`.
 */
export function forgottenHandlers(discovery: DiscoveryService, decorator: string): string[] {
  const found = new Set<object | null>();
  for (const wrapper of [...discovery.getControllers(), ...discovery.getProviders()]) {
    let prototype: object | null = prototypeOf(wrapper) ?? null;
    for (; prototype; prototype = Object.getPrototypeOf(prototype) as object | null) found.add(prototype);
  }
  return (loaded.get(decorator) ?? []).flatMap(({ prototype, where }) => {
    const alive = prototype.deref();
    return alive === undefined || found.has(alive) ? [] : [where];
  });
}

/** Returns the beginning of the warning about handlers that will never run. */
export function forgottenText(decorator: string, handlers: readonly string[]): string {
  const shown = handlers.slice(0, 3).join(', ');
  const more = handlers.length > 3 ? ` and ${handlers.length - 3} more` : '';
  return (
    `No provider of this app has ${decorator}(), but ${shown}${more} ${handlers.length === 1 ? 'has' : 'have'} it. Add the class to the ` +
    'providers of a module, or its handlers are never called.'
  );
}
