import { AsyncLocalStorage } from 'node:async_hooks';
import { ApplicationConfig, ModuleRef, type ModulesContainer } from '@nestjs/core';

const MODULES = /^(RateLimit|Once|ReadReward|Lock|ScheduledLock|DelayedTask|StreamConsumer|RedPacket)Module$/;

/** Providers that Nest adds to each module. */
const PARTS_OF_NEST = new Set<unknown>([ApplicationConfig, ModuleRef]);

// See DECISIONS.md: records-know-their-app
const context = new AsyncLocalStorage<object>();

type Methods = Record<string, ((...args: unknown[]) => unknown) | undefined>;

/** Returns true if the code that runs now was begun by this app, or by none that is known. */
export function isOwn(app: object): boolean {
  return (context.getStore() ?? app) === app;
}

/**
 * Marks what the services of luanest in an app do, with all that follows from it: timers, replies and handlers. Their methods
 * are replaced for that.
 */
export function markServices(app: object, modules: ModulesContainer): void {
  for (const { metatype, providers } of modules.values()) {
    if (!MODULES.test(metatype.name)) continue;
    for (const [token, { instance }] of providers) {
      if (typeof token !== 'function' || PARTS_OF_NEST.has(token)) continue;
      if (isInstance(instance, token)) markMethods(app, instance);
    }
  }
}

function isInstance(value: unknown, type: unknown): value is object {
  return typeof value === 'object' && value instanceof (type as new () => object) && Object.isExtensible(value);
}

function markMethods(app: object, service: object): void {
  for (
    let at = Object.getPrototypeOf(service) as Methods;
    at !== Object.prototype;
    at = Object.getPrototypeOf(at) as Methods
  ) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (typeof value !== 'function' || name === 'constructor' || Object.hasOwn(service, name)) continue;
      const from = at;
      // Looked up at each call, because the test may replace a method of the class.
      const marked = (...args: unknown[]): unknown => context.run(app, () => from[name]?.apply(service, args));
      Object.defineProperty(service, name, { value: marked, writable: true, configurable: true });
    }
  }
}
