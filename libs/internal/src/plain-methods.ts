import { Inject, Optional, type Type } from '@nestjs/common';

type InjectDecorator = (target: object, key: string | symbol | undefined, index?: number) => void;

// See DECISIONS.md: objects-without-a-service
let allowed = false;
/** Functions that make an injected service optional. Each is called when plain methods are allowed. */
const required: (() => void)[] = [];
/** A service that a class needs, see `InjectService`. */
export interface NeededService {
  readonly service: Type;
  /** Names the decorator or the class, and the module. */
  readonly text: string;
  /** Property of the instances that has the service. Only of classes that Nest creates, while plain methods are allowed. */
  readonly property: symbol;
}

/** The services that classes need, by the prototype of the class. */
const needed = new WeakMap<object, NeededService[]>();
/** Services of objects, by the class of the service; for objects that Nest did not inject into, such as those of `useFactory`. */
const given = new WeakMap<object, Map<Type, unknown>>();

/**
 * Lets decorated methods, guards and interceptors without a service do nothing of their own, in the whole process: a decorated
 * method runs as it is. `luanest/testing` calls it when it is imported. An object that has the service, or a mock of it, uses it.
 */
export function allowPlainMethods(): void {
  allowed = true;
  for (const makeOptional of required.splice(0)) makeOptional();
}

/**
 * Makes Nest inject a service into a property of a class, or into a parameter of its constructor. Nest refuses to create the
 * class without the service, unless plain methods are allowed.
 */
export function InjectService(service: Type): PropertyDecorator & ParameterDecorator {
  return (target: object, key: string | symbol | undefined, index?: number) => {
    (Inject(service) as InjectDecorator)(target, key, index);
    const need = neededBy(target, key, index, service);
    const makeOptional = (): void => {
      (Optional() as InjectDecorator)(target, key, index);
      if (index === undefined) return;
      // No code can read what Nest passed to the constructor, so Nest sets a property, too.
      const prototype = (target as Type).prototype as object;
      (Inject(service) as InjectDecorator)(prototype, need.property);
      (Optional() as InjectDecorator)(prototype, need.property);
    };
    if (allowed) makeOptional();
    else required.push(makeOptional);
  };
}

function neededBy(
  target: object,
  key: string | symbol | undefined,
  index: number | undefined,
  service: Type,
): NeededService {
  const isParameter = index !== undefined;
  const prototype = isParameter ? ((target as Type).prototype as object) : target;
  const property = isParameter ? Symbol(service.name) : (key as symbol);
  const text = isParameter
    ? `${(target as Type).name} needs ${service.name.replace(/Service$/, 'Module')}.forRoot()`
    : (property.description ?? '');
  const need = { service, text, property };
  needed.set(prototype, [...(needed.get(prototype) ?? []), need]);
  return need;
}

/** Returns the services that the class of an object needs, also those of its base classes. */
export function neededServices(object: object): NeededService[] {
  const found: NeededService[] = [];
  for (let at = Object.getPrototypeOf(object) as object | null; at; at = Object.getPrototypeOf(at) as object | null) {
    found.push(...(needed.get(at) ?? []));
  }
  return found;
}

/** Gives an object a service, for `serviceOf`. Explorers call it for each decorated instance when the app boots. */
export function giveService<T>(object: object, service: Type<T>, value: T): void {
  const services = given.get(object) ?? new Map<Type, unknown>();
  given.set(object, services.set(service, value));
}

/**
 * Returns the service of a decorated object; undefined without one. It is partial, because a mock may have some of its methods only.
 *
 * @param property the property that has `InjectService`
 */
export function serviceOf<T>(object: object, property: symbol, service: Type<T>): Partial<T> | undefined {
  const injected = (object as Record<symbol, Partial<T> | undefined>)[property];
  return injected ?? (given.get(object)?.get(service) as Partial<T> | undefined);
}

export interface MissingService {
  /** Decorator and method, or the class of the guard or interceptor, with which the error begins. */
  readonly where: string;
  /** Class of the service. */
  readonly service: string;
  /** Method of the service that is needed. */
  readonly method: string;
  /** Class of the module that provides the service. */
  readonly module: string;
  /** True if there is a mock that has the method, but it decides only with `luanest/testing`. Default false. */
  readonly mocked?: boolean;
}

/**
 * Returns the error text for an object without a usable service: what is missing, and what to do. Undefined if plain methods are
 * allowed, so that the method runs as it is.
 */
export function missingService({ where, service, method, module, mocked }: MissingService): string | undefined {
  if (allowed) return undefined;
  if (mocked) {
    return (
      `${where}: There is no ${module} here, so nothing runs; import ${module}.forRoot(), or in a unit test import ` +
      `'luanest/testing' to let the mock of ${service} decide.`
    );
  }
  return (
    `${where}: There is no ${service} with a method ${method}() here, so nothing runs; let Nest create the object in an app that ` +
    `imports ${module}.forRoot() and call it after its constructor, or in a unit test import 'luanest/testing' to run it as it ` +
    `is, or provide a mock of ${service} that has ${method}().`
  );
}
