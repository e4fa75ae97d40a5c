import { Inject, type Type } from '@nestjs/common';
import { SetupError } from './errors';

/** Objects of unit tests whose decorated methods run without the decorators of luanest. */
const plain = new WeakSet<object>();

/**
 * Returns a provider that a guard or an interceptor injects with `@Optional()`; throws if it is missing. Without `@Optional()`, Nest
 * would report the missing provider by the name of its class, which users do not know.
 * See DECISIONS.md: one-sentence-for-a-missing-module
 *
 * @param who class of the guard or interceptor
 * @param forRoot call that provides the provider, such as `OnceModule.forRoot({ ... })`
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
 * Gives a service to objects whose decorated methods call it. For example, methods with `@Once` call the service of luanest/once.
 *
 * See DECISIONS.md: objects-without-a-service
 */
export class MethodService<T extends object> {
  /** Services of objects into which Nest injects nothing, such as objects that a `useFactory` returns. */
  private readonly given = new WeakMap<object, T>();

  /** @param module name of the module class that provides the service, for errors */
  constructor(
    private readonly type: Type<T>,
    private readonly module: string,
  ) {}

  /**
   * Makes Nest inject the service into each object of a class. If the module is missing, Nest cannot create the object. Its error then
   * names the decorator and the module.
   *
   * @param where decorator and method; errors begin with this text
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

  /** Sets the service of an object. Called at boot for each object with decorated methods. */
  give(object: object, service: T): void {
    this.given.set(object, service);
  }
}

/** Returns true if `undecorated` was called with this object. */
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
