import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { methodOf, prototypeOf, type Method, type Wrapper } from './handlers';

/** A method of a provider or controller of the app, its own or inherited. */
export interface ExploredMethod {
  readonly wrapper: Wrapper;
  readonly prototype: object;
  readonly name: string;
  /** The function of the method. It is found without calling getters. */
  readonly method: Method;
  /** `Class.method`. */
  readonly where: string;
}

export interface ExploreOptions {
  /**
   * True: an alias (`useExisting`) counts as another provider, so its methods are found again. False: each instance is explored once.
   * Default false.
   */
  readonly aliases?: boolean;
}

/**
 * Finds the methods of all controllers and providers of an app. If a class has two instances, because two modules provide it, its
 * methods are found twice.
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

/** Second part of the error for a handler whose class is not a singleton. The error begins with `Class.method: `. */
export const NOT_A_SINGLETON =
  'its class is request-scoped or transient, or depends on a request-scoped class, so there is no instance to call. Make it a singleton';

/**
 * Returns the instance of a provider or controller that is a singleton. Returns undefined if there is no instance, or if the class is
 * request-scoped or transient, or depends on a request-scoped class.
 */
export function singletonOf(wrapper: Wrapper): object | undefined {
  if (!wrapper.isDependencyTreeStatic() || wrapper.isTransient) return undefined;
  return (wrapper.instance as object | null | undefined) ?? undefined;
}
