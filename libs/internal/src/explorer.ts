import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { methodOf, prototypeOf, type Method, type Wrapper } from './handlers';

/** A method of a provider or controller of the app, its own or inherited. */
export interface ExploredMethod {
  readonly wrapper: Wrapper;
  readonly prototype: object;
  readonly name: string;
  /** Function of the method, found without calling getters. */
  readonly method: Method;
  /** Name for errors: `Class.method`. */
  readonly where: string;
}

export interface ExploreOptions {
  /**
   * True: an alias (`useExisting`) counts as a second provider, so its methods are listed again. False: each instance is listed once.
   * Default false.
   */
  readonly aliases?: boolean;
}

/**
 * Finds the methods of all controllers and providers of an app. If two modules provide a class, its methods are listed twice, once per
 * instance.
 */
export function* exploreMethods(
  discovery: DiscoveryService,
  scanner: MetadataScanner,
  { aliases = false }: ExploreOptions = {},
): Generator<ExploredMethod> {
  const instances = new Set<unknown>();
  for (const wrapper of [...discovery.getControllers(), ...discovery.getProviders()]) {
    const instance: unknown = wrapper.instance;
    if (!aliases && (wrapper.isAlias || instances.has(instance))) continue;
    if (instance) instances.add(instance);
    const prototype = prototypeOf(wrapper);
    for (const name of prototype ? scanner.getAllMethodNames(prototype) : []) {
      const method = methodOf(prototype as object, name);
      const where = `${(prototype as object).constructor.name}.${name}`;
      if (method) yield { wrapper, prototype: prototype as object, name, method, where };
    }
  }
}

/** Text of the error for a handler whose class is not a singleton. `Class.method: ` precedes it. */
export const NOT_A_SINGLETON =
  'its class is request-scoped or transient, or depends on a request-scoped class, so there is no instance to call. Make it a singleton';

/**
 * Returns the instance of a provider or controller. Returns undefined if the class is request-scoped or transient, or depends on such a
 * class, because it then has no single instance.
 */
export function singletonOf(wrapper: Wrapper): object | undefined {
  if (!wrapper.isDependencyTreeStatic() || wrapper.isTransient) return undefined;
  return (wrapper.instance as object | null | undefined) ?? undefined;
}
