import { Inject, type Type } from '@nestjs/common';
import { SetupError } from './errors';

/** Objects of unit tests on which the decorators of luanest have no effect (see `undecorated`). */
const plain = new WeakSet<object>();

/**
 * Returns a provider that a guard or an interceptor got by `@Optional()`, or throws an error that names the module to import. Nest's own
 * error would name an inner class that users do not know.
 * See DECISIONS.md: one-sentence-for-a-missing-module
 *
 * @param who class name of the guard or interceptor
 * @param forRoot call that the app must add, such as `OnceModule.forRoot({ ... })`
 * @throws SetupError if the provider is undefined
 */
export function provided<T>(provider: T | undefined, who: string, forRoot: string): T {
  if (provider !== undefined) return provider;
  throw new SetupError(
    `${who}: The module that it needs is not imported. Add ${forRoot} to the imports of the root module, without isGlobal: false. ` +
      `Then every module can use ${who}.`,
  );
}

/**
 * Brings a service into the objects whose decorated methods need it. For example, a method with `@Once` needs the service of luanest/once.
 *
 * See DECISIONS.md: objects-without-a-service
 */
export class MethodService<T extends object> {
  /** Services by object, for objects that Nest does not construct, such as those that a `useFactory` returns. */
  private readonly given = new WeakMap<object, T>();

  /** @param module class name of the module that provides the service, for errors */
  constructor(
    private readonly type: Type<T>,
    private readonly module: string,
  ) {}

  /**
   * Makes Nest inject the service into each object of a class. If the app does not import the module, Nest cannot create the object, and
   * its error names the decorator and the module.
   *
   * @param where decorator and method, which begin each error
   * @returns a function that returns the service of an object. It throws SetupError for an object without one
   */
  injectInto(target: object, where: string): (object: object) => T {
    const property = Symbol(`${where} needs ${this.module}.forRoot()`);
    Inject(this.type)(target, property);
    return (object) => {
      const service = (object as Record<symbol, T | undefined>)[property] ?? this.given.get(object);
      if (service !== undefined) return service;
      throw new SetupError(
        `${where}: The method did not run, because Nest has not given its object a ${this.type.name}. Let Nest create the object ` +
          `in an app that imports ${this.module}.forRoot(), and do not call the method in the constructor. In a unit test, ` +
          `make the object with undecorated() of luanest/testing.`,
      );
    };
  }

  /** Sets the service of an object. Called at boot for each object that has decorated methods. */
  give(object: object, service: T): void {
    this.given.set(object, service);
  }
}

/** Returns true if a unit test has passed this object to `undecorated`. */
export function isUndecorated(object: object): boolean {
  return plain.has(object);
}

/**
 * Makes the methods of an object run as if they had no decorators of luanest. For unit tests of a class.
 *
 * @returns the object
 */
export function undecorated<T extends object>(object: T): T {
  plain.add(object);
  return object;
}
