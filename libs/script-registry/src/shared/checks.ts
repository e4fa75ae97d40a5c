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
