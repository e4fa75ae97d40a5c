import { InvalidOptionError } from '../script-registry.errors';
import { shown } from '../shown';

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

/**
 * An object of named values, and no array, Map, Promise or the like.
 *
 * @param what names it in messages; '' for the options of a module
 * @throws what `refuse` makes, naming the value; by default InvalidOptionError
 */
export function checkObject<T>(what: string, value: T, remedy = 'Give an object.', refuse: Refusal = refusedOption): T {
  const kind = Object.prototype.toString.call(value);
  if (typeof value === 'object' && OBJECTS.includes(kind)) return value;
  const text = shown(value);
  const seen = text === 'an object' ? `a ${kind.slice('[object '.length, -1)}` : text;
  throw refuse(
    what === ''
      ? `The options are ${seen}. Give an object; forRootAsync's factory must return one.`
      : `${what} ${what.startsWith('The options') ? 'are' : 'is'} ${seen}. ${remedy}`,
  );
}

/**
 * Options that are an object and have no name that is not known. What a class of the user's has beside options is its own,
 * so instances are asked for no names.
 *
 * @param what names them in messages, such as `breaker`; '' for the options of a module
 * @throws what `refuse` makes, naming the value, or the name and those that are known; by default InvalidOptionError
 */
export function checkOptions<T>(
  what: string,
  options: T,
  known: KnownOptions<NoInfer<T>>,
  refuse: Refusal = refusedOption,
): T {
  checkObject(what, options, `Give an object with ${Object.keys(known).join(', ')}.`, refuse);
  const prototype: unknown = Object.getPrototypeOf(options);
  // By what Object.prototype alone has, and not by identity: there is one for each realm.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return options;
  for (const name of Object.keys(options as object)) {
    if (Object.hasOwn(known, name)) continue;
    const where =
      what === '' ? '' : ` of ${what.replace(/^The (options of )?/, (_, options) => (options ? '' : 'the '))}`;
    throw refuse(`There is no option ${shown(name)}${where}. Known: ${Object.keys(known).join(', ')}.`);
  }
  return options;
}
