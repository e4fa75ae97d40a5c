import { Checks } from './checks';
import { LuanestError } from './errors';
import type { Method } from './handlers';

export interface Decorated {
  /** Name of the decorated class or method for error messages: `Class` or `Class.method`. */
  readonly where: string;
  /** Checks of the decorator's options; their errors begin with `@Name on Class.method`. */
  readonly checks: Checks;
  /** Object for the decorator's metadata: the class, or the function of the method. */
  readonly on: object;
  /** Applies another decorator to the same class or method. */
  readonly apply: (decorator: ClassDecorator & MethodDecorator) => void;
}

export interface DecoratedMethod {
  /** Place of the decorator for errors: `Class.method`. */
  readonly where: string;
  /** Checks of the decorator's options; their errors begin with `@Name on Class.method`. */
  readonly checks: Checks;
  /** The prototype that has the method. */
  readonly target: object;
  readonly key: string | symbol;
  readonly method: Method;
  readonly descriptor: PropertyDescriptor;
}

type Descriptor = PropertyDescriptor | undefined;

/**
 * Creates a decorator for instance methods. The decorator refuses getters, class fields, static methods and classes.
 *
 * @param name name of the decorator, such as `@Once`
 * @throws InvalidOptionError when the class is loaded. The message names the decorator, the class and the member
 */
export function methodDecorator(name: string, decorate: (method: DecoratedMethod) => void): MethodDecorator {
  return function decorator(target, key, descriptor: Descriptor) {
    const where = placeOf(target, key);
    const checks = new Checks(`${name} on ${where}`);
    pointAtUser(decorator, () => {
      const method = checkedMethod(checks, target, key, descriptor);
      decorate({ where, checks, target, key, method, descriptor: descriptor as PropertyDescriptor });
    });
  };
}

/**
 * Runs a decorator. If it throws, the stack of the error begins at the line of the app that applied the decorator. Otherwise the ten lines
 * of stack that Node prints would be those of this package.
 */
function pointAtUser(decorator: (...args: never[]) => unknown, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (error instanceof LuanestError) Error.captureStackTrace(error, decorator);
    throw error;
  }
}

/**
 * Creates a decorator for classes and instance methods. The decorator refuses anything else.
 *
 * @param name name of the decorator, such as `@RateLimit`
 * @throws InvalidOptionError when the class is loaded. The message names the decorator, the class and the member
 */
export function classOrMethodDecorator(
  name: string,
  decorate: (decorated: Decorated) => void,
): ClassDecorator & MethodDecorator {
  return function decorator(target: object, key?: string | symbol, descriptor?: Descriptor) {
    const where = placeOf(target, key);
    const checks = new Checks(`${name} on ${where}`);
    pointAtUser(decorator, () => {
      const on =
        key === undefined ? target : checkedMethod(checks, target, key, descriptor, 'a class or an instance method');
      decorate({
        where,
        checks,
        on,
        apply: (other) => {
          if (key === undefined) other(target as never);
          else other(target, key, descriptor as never);
        },
      });
    });
  };
}

function placeOf(target: object, key: string | symbol | undefined): string {
  const { name } = typeof target === 'function' ? target : target.constructor;
  return key === undefined ? name : `${name}.${String(key)}`;
}

function checkedMethod(
  checks: Checks,
  target: object,
  key: string | symbol,
  descriptor: Descriptor,
  expected = 'an instance method',
): Method {
  const kind = kindOf(target, key, descriptor);
  if (kind === undefined) return descriptor?.value as Method;
  throw checks.error(`The decorator is applied to ${kind}. Expected ${expected}.`);
}

/**
 * Returns undefined if the decorator was applied to an instance method. Otherwise returns the kind of member in words, for the error.
 * Compilers pass no descriptor for a field, or a descriptor without a value.
 */
function kindOf(target: object, key: string | symbol | undefined, descriptor: Descriptor): string | undefined {
  if (key === undefined) return 'a class';
  if (descriptor?.get ?? descriptor?.set) return 'a getter or setter';
  if (typeof target === 'function') return 'a static member';
  if (descriptor === undefined || !('value' in descriptor)) return 'a field';
  return typeof descriptor.value === 'function' ? undefined : 'a value that is not a function';
}
