import { InvalidOptionError } from './errors';
import { shown } from './printable';

/** Function that turns the message about an invalid value into the error to throw. */
export type Refusal = (message: string) => Error;

/** Type of an object that lists the names of all options in `T` as keys. The compiler reports a missing or an unknown name. */
export type KnownOptions<T> = Readonly<Record<keyof T, unknown>>;

/** Longest delay of a Node timer, ms. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Results of `Object.prototype.toString` for objects that may hold options. `[object Module]` stands for the result of `import * as`. */
const OBJECTS: readonly string[] = ['[object Object]', '[object Module]'];

const kindOf = (value: unknown): string => Object.prototype.toString.call(value);

/** Returns the unit of an option, as the end of a phrase in an error. The end of the option's name shows the unit. */
function unitOf(name: string): string {
  if (name.endsWith('AtMs')) return ' (ms since 1970)';
  if (name.endsWith('Ms')) return ' ms';
  return name.endsWith('Bytes') ? ' bytes' : '';
}

function isObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  return Object.getPrototypeOf(value) === Object.prototype || OBJECTS.includes(kindOf(value));
}

/**
 * Returns true if the object is an instance of a class: its prototype has a prototype itself. A comparison with Object.prototype would fail
 * for plain objects of a `vm` context, because each context has an Object.prototype of its own.
 */
function hasClass(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  return prototype !== null && Object.getPrototypeOf(prototype) !== null;
}

/** Returns true for a safe integer from `min` to `max`. */
export function isIntegerOf(value: unknown, min: number, max: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
}

/** Returns true for well-formed Unicode of 1 to `maxChars` UTF-16 units. */
export function isIdOf(value: unknown, maxChars: number): value is string {
  return typeof value === 'string' && value !== '' && value.length <= maxChars && value.isWellFormed();
}

/**
 * Checks of the options of a module, a decorator or a call. Each check returns the value, or throws an error such as `LockModule: leaseMs
 * is "30s". Expected an integer from 10 to 2147483647.`
 * See DECISIONS.md: options-refused-by-one-class
 */
export class Checks {
  /**
   * @param where owner of the options, such as `LockModule` or `@Once on Jobs.send`. Errors begin with this text, unless it is empty
   * @param refusal function that creates the error for a message. Default: creates an InvalidOptionError
   * @param path name of the option that contains the checked options, such as `breaker`. Default: none
   */
  constructor(
    readonly where: string,
    private readonly refusal: Refusal = (message) => new InvalidOptionError(message),
    private readonly path = '',
  ) {}

  /** Returns the checks for an option that is an object itself, such as `breaker` or `rules[0]`. Errors then contain its name. */
  in(name: string): Checks {
    return new Checks(this.where, this.refusal, this.nameOf(name));
  }

  /** Creates an error whose message begins with the owner of the options. @param sentence the problem, and how to solve it */
  error(sentence: string): Error {
    return this.refusal(this.where === '' ? sentence : `${this.where}: ${sentence}`);
  }

  /** Throws the error for an invalid option. @param expected the values that are allowed, such as `true or false` */
  refuse(name: string, value: unknown, expected: string): never {
    const seen = this.nameOf(name);
    throw this.error(`${seen === '' ? 'The options are' : `${seen} is`} ${shown(value)}. Expected ${expected}.`);
  }

  /** Checks for an integer from `min` to `max`. @param max default: the longest delay of a Node timer, ms */
  integer(name: string, value: unknown, min: number, max: number = MAX_TIMER_MS): number {
    if (isIntegerOf(value, min, max)) return value;
    const isFraction = typeof value === 'number' && value > 0 && value < 1 && name.endsWith('Ms');
    const hint = isFraction ? ', not seconds' : '';
    return this.refuse(name, value, `an integer from ${min} to ${max}${unitOf(name)}${hint}`);
  }

  number(name: string, value: unknown, min: number, max: number): number {
    if (typeof value === 'number' && value >= min && value <= max) return value;
    return this.refuse(name, value, `a number from ${min} to ${max}`);
  }

  flag(name: string, value: unknown): boolean {
    return typeof value === 'boolean' ? value : this.refuse(name, value, 'true or false');
  }

  /** Checks for text that matches a pattern. @param expected the pattern in words, such as `1 to 100 letters or digits` */
  text(name: string, value: unknown, pattern: RegExp, expected: string): string {
    return typeof value === 'string' && pattern.test(value) ? value : this.refuse(name, value, expected);
  }

  /** Checks for an id or a key: well-formed Unicode of 1 to `maxChars` UTF-16 units. */
  id(name: string, value: unknown, maxChars: number): string {
    if (isIdOf(value, maxChars)) return value;
    return this.refuse(name, value, `1 to ${maxChars} characters of well-formed Unicode`);
  }

  choice<T extends string>(name: string, value: unknown, choices: readonly T[]): T {
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    const quoted = choices.map((choice) => `'${choice}'`);
    return this.refuse(name, value, quoted.length < 3 ? quoted.join(' or ') : `one of ${quoted.join(', ')}`);
  }

  /** Checks for a function. @param purpose words after `a function` in the error, such as `from the request to the user's id` */
  fn<T>(name: string, value: T, purpose = ''): T {
    return typeof value === 'function' ? value : this.refuse(name, value, `a function ${purpose}`.trimEnd());
  }

  optionalFn<T>(name: string, value: T, purpose = ''): T | undefined {
    return value === undefined ? undefined : this.fn(name, value, purpose);
  }

  /** Checks for an array. @param expected the allowed value in words, such as `an array of rules` */
  list(name: string, value: unknown, expected = 'an array'): readonly unknown[] {
    return Array.isArray(value) ? (value as readonly unknown[]) : this.refuse(name, value, expected);
  }

  /**
   * Checks for an object that can hold options. Refuses an array, a Map and a Promise.
   *
   * @param name name of the option; empty for the options object itself
   */
  object<T>(name: string, value: T, expected = 'an object'): T {
    if (isObject(value)) return value;
    const kind = typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
    if (!kind) return this.refuse(name, value, expected);
    const seen = this.nameOf(name);
    const subject = seen === '' ? 'The options are' : `${seen} is`;
    throw this.error(`${subject} of the type ${kindOf(value).slice('[object '.length, -1)}. Expected ${expected}.`);
  }

  /**
   * Checks for an object that has no unknown options. Accepts any instance of a class, without looking at its names.
   *
   * @param name name of the option; empty for the options object itself
   */
  options<T>(name: string, value: T, known: KnownOptions<NoInfer<T>>): T {
    const names = (): string => Object.keys(known).join(', ');
    if (!isObject(value)) return this.object(name, value, `an object. Known options: ${names()}`);
    if (hasClass(value)) return value;
    const unknown = Object.keys(value).find((key) => !Object.hasOwn(known, key));
    if (unknown === undefined) return value;
    const inside = this.nameOf(name);
    throw this.error(`There is no option ${shown(unknown)}${inside && ` in ${inside}`}. Known: ${names()}.`);
  }

  private nameOf(name: string): string {
    if (name === '' || this.path === '') return this.path + name;
    return name.startsWith('[') ? this.path + name : `${this.path}.${name}`;
  }
}
