import { formatGeneral, parseNumber } from './lua/numbers';
import { NOT_A_FLOAT, NOT_AN_INTEGER, refuse } from './reply';

export const MOST_INTEGER = 2n ** 63n - 1n;
export const LEAST_INTEGER = -(2n ** 63n);
const INTEGER = /^(?:0|-?[1-9]\d{0,18})$/;

/** Parses a 64-bit integer. Returns undefined for other text, and also for `+1` and `01`, because Redis never writes an integer so. */
export function parseInteger(text: string): bigint | undefined {
  if (!INTEGER.test(text)) return undefined;
  const value = BigInt(text);
  return value >= LEAST_INTEGER && value <= MOST_INTEGER ? value : undefined;
}

/** Parses a 64-bit integer. @throws RedisError */
export function bigInteger(text: string, error = NOT_AN_INTEGER): bigint {
  return parseInteger(text) ?? refuse(error);
}

/** Parses a 64-bit integer as a number, which is rounded beyond 2^53. @throws RedisError */
export function integer(text: string, error = NOT_AN_INTEGER): number {
  return Number(bigInteger(text, error));
}

/** Parses an integer of 0 or more, which is rounded beyond 2^53. @throws RedisError */
export function positive(text: string, error = 'ERR value is out of range, must be positive'): number {
  const value = integer(text, error);
  return value < 0 ? refuse(error) : value;
}

/** Parses a floating-point number. @throws RedisError, also for NaN */
export function float(text: string, error = NOT_A_FLOAT): number {
  const value = /^\s|\s$|\0/.test(text) ? undefined : parseNumber(text);
  if (value === undefined || Number.isNaN(value)) refuse(error);
  // A number that is too large or too close to 0 for a double is an error, but the texts 0 and inf are valid.
  const isOutOfRange = (value === 0 || !Number.isFinite(value)) && !/^[-+]?(?:inf|0x|[0.]+(?:e|$))/i.test(text);
  return isOutOfRange ? refuse(error) : value;
}

/** Formats a score as `%.17g` of C does. */
export function scoreText(value: number): string {
  if (Number.isSafeInteger(value)) return Object.is(value, -0) ? '-0' : String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e17) return String(BigInt(value));
  return formatGeneral(value, 17, false);
}

/** Returns the integer as a number if that is exact, otherwise as a bigint. */
export function replyInteger(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
