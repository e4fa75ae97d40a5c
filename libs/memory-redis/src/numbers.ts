import { formatGeneral, parseNumber } from './lua/numbers';
import { NOT_A_FLOAT, NOT_AN_INTEGER, refuse } from './reply';

export const MOST_INTEGER = 2n ** 63n - 1n;
export const LEAST_INTEGER = -(2n ** 63n);
const INTEGER = /^(?:0|-?[1-9]\d{0,18})$/;

/** Returns a 64-bit integer; undefined if the text is not one in the form in which Redis writes integers. */
export function parseInteger(text: string): bigint | undefined {
  if (!INTEGER.test(text)) return undefined;
  const value = BigInt(text);
  return value >= LEAST_INTEGER && value <= MOST_INTEGER ? value : undefined;
}

/** Returns a 64-bit integer. @throws RedisError */
export function bigInteger(text: string, error = NOT_AN_INTEGER): bigint {
  return parseInteger(text) ?? refuse(error);
}

/** Returns a 64-bit integer, rounded if it is beyond 2^53. @throws RedisError */
export function integer(text: string, error = NOT_AN_INTEGER): number {
  return Number(bigInteger(text, error));
}

/** Returns an integer that is 0 or more, rounded if it is beyond 2^53. @throws RedisError */
export function positive(text: string, error = 'ERR value is out of range, must be positive'): number {
  const value = integer(text, error);
  return value < 0 ? refuse(error) : value;
}

/** Returns a number other than NaN. @throws RedisError */
export function float(text: string, error = NOT_A_FLOAT): number {
  const value = /^\s|\s$|\0/.test(text) ? undefined : parseNumber(text);
  if (value === undefined || Number.isNaN(value)) refuse(error);
  // What is too large or too small for a double is an error, unless it is written as 0 or as inf.
  const isOutOfRange = (value === 0 || !Number.isFinite(value)) && !/^[-+]?(?:inf|0x|[0.]+(?:e|$))/i.test(text);
  return isOutOfRange ? refuse(error) : value;
}

/** Returns the text of a score: %.17g. */
export function scoreText(value: number): string {
  if (Number.isSafeInteger(value)) return Object.is(value, -0) ? '-0' : String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e17) return String(BigInt(value));
  return formatGeneral(value, 17, false);
}

/** Returns an integer as a number if that is exact; otherwise unchanged. */
export function replyInteger(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
