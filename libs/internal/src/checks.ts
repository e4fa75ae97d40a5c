import { InvalidOptionError } from './errors';
import { shown } from './printable';

/** Makes the error of a value that cannot be used. */
export type Refusal = (message: string) => Error;

/** Refuses an option. */
export const refusedOption: Refusal = (message) => new InvalidOptionError(message);

/** The longest time that Node's timers can wait, ms. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Whether a value is an integer of a range. */
export function isIntegerOf(value: unknown, min: number, max: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
}

/**
 * An integer of a range, which ends by default at what timers can wait.
 *
 * @throws what `refuse` makes, naming the value and the range; by default InvalidOptionError
 */
export function checkInteger(
  name: string,
  value: unknown,
  min: number,
  max: number = MAX_TIMER_MS,
  refuse: Refusal = refusedOption,
): number {
  if (isIntegerOf(value, min, max)) return value;
  throw refuse(`${name} is ${shown(value)}. Give an integer of ${min} to ${max}.`);
}

/** True or false. @throws InvalidOptionError naming the value */
export function checkFlag(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw refusedOption(`${name} is ${shown(value)}. Give true or false.`);
}

/** The names of a type's options: one that is forgotten, or that the type does not have, fails to compile. */
export type KnownOptions<T> = Readonly<Record<keyof T, unknown>>;

/** What holds values by name; `[object Module]` is what `import * as` gives. */
const OBJECTS: readonly string[] = ['[object Object]', '[object Module]'];

const kindOf = (value: unknown): string => Object.prototype.toString.call(value);

function isObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  return Object.getPrototypeOf(value) === Object.prototype || OBJECTS.includes(kindOf(value));
}

function noObject(what: string, value: unknown, remedy: string): string {
  const text = shown(value);
  const seen = text === 'an object' ? `a ${kindOf(value).slice('[object '.length, -1)}` : text;
  if (what === '') return `The options are ${seen}. Give an object; forRootAsync's factory must return one.`;
  return `${what} ${what.startsWith('The options') ? 'are' : 'is'} ${seen}. ${remedy}`;
}

/**
 * An object of named values, and no array, Map, Promise or the like.
 *
 * @param what names it in messages; '' for the options of a module
 * @throws InvalidOptionError naming the value
 */
export function checkObject<T>(what: string, value: T, remedy = 'Give an object.'): T {
  if (isObject(value)) return value;
  throw refusedOption(noObject(what, value, remedy));
}

/**
 * Options that are an object and have no name that is not known. What a class of the user's has beside options is its own,
 * so instances are asked for no names.
 *
 * @param what names them in messages, such as `breaker` or `The options of the lock`; '' for the options of a module
 * @throws what `refuse` makes, naming the value, or the name and those that are known; by default InvalidOptionError
 */
export function checkOptions<T>(
  what: string,
  options: T,
  known: KnownOptions<NoInfer<T>>,
  refuse: Refusal = refusedOption,
): T {
  const names = (): string => Object.keys(known).join(', ');
  if (!isObject(options)) throw refuse(noObject(what, options, `Give an object with ${names()}.`));
  const prototype: unknown = Object.getPrototypeOf(options);
  // By what Object.prototype alone has, and not by identity: there is one for each realm.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return options;
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(known, name)) continue;
    const where = what === '' ? '' : ` of ${what.replace(/^The (options of )?/, (_, of) => (of ? '' : 'the '))}`;
    throw refuse(`There is no option ${shown(name)}${where}. Known: ${names()}.`);
  }
  return options;
}
