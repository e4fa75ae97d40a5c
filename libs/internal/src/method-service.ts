import { Inject, type Type } from '@nestjs/common';
import { SetupError } from './errors';

/** Objects of unit tests whose decorated methods run as they are. */
const plain = new WeakSet<object>();

/**
 * Returns a provider that a guard or an interceptor injects with `@Optional()`. Nest would report a missing provider with the name of
 * its class, which users do not know.
 * See DECISIONS.md: one-sentence-for-a-missing-module
 *
 * @param who class of the guard or interceptor
 * @param forRoot call that provides it, such as `OnceModule.forRoot({ ... })`
 * @throws SetupError if the provider is undefined
 */
export function provided<T>(provider: T | undefined, who: string, forRoot: string): T {
  if (provider !== undefined) return provider;
  throw new SetupError(
    `${who}: Its module is missing here. Add ${forRoot} to the imports of the root module. Without isGlobal: false, every module can ` +
      'then use it.',
  );
}

/**
 * A service that decorated methods call.
 *
 * See DECISIONS.md: objects-without-a-service
 */
export class MethodService<T extends object> {
  /** Services of objects that Nest does not inject into, such as those of `useFactory`. */
  private readonly given = new WeakMap<object, T>();

  /** @param module class of the module that provides the service, for errors */
  constructor(
    private readonly type: Type<T>,
    private readonly module: string,
  ) {}

  /**
   * Makes Nest inject the service into each object of a class. Without the module, Nest refuses to create the class, and its error
   * says what the decorator needs.
   *
   * @param where decorator and method, with which errors begin
   * @returns a function that returns the service of an object, and throws SetupError for an object without it
   */
  injectInto(target: object, where: string): (object: object) => T {
    const property = Symbol(`${where} needs ${this.module}.forRoot()`);
    Inject(this.type)(target, property);
    return (object) => {
      const service = (object as Record<symbol, T | undefined>)[property] ?? this.given.get(object);
      if (service !== undefined) return service;
      throw new SetupError(
        `${where}: This object has no ${this.type.name}, so nothing runs. Let Nest create it in an app that imports ` +
          `${this.module}.forRoot(), and call the method after the constructor. In a unit test, make the object with ` +
          `undecorated() of luanest/testing.`,
      );
    };
  }

  /** Gives the service to an object. Explorers call it for each decorated object when the app boots. */
  give(object: object, service: T): void {
    this.given.set(object, service);
  }
}

/** Returns true for an object of `undecorated`. */
export function isUndecorated(object: object): boolean {
  return plain.has(object);
}

/**
 * Lets the decorated methods of an object run as they are, as if they had no decorator of luanest. For unit tests of a class.
 *
 * @returns the object
 */
export function undecorated<T extends object>(object: T): T {
  plain.add(object);
  return object;
}
