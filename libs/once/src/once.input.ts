import { Checks, isIdOf, InvalidInputError } from '../../internal/src';
import { OnceResultTooLargeError } from './once.errors';

const MAX_ID = 1_024;
const MAX_TOKEN = 256;
/** Maximum of `leaseMs`, `maxLeaseMs` and `retentionMs`, ms: ten years. */
export const MAX_DURATION_MS = 3_650 * 86_400_000;

const input = new Checks('OnceService', (message) => new InvalidInputError(message));

/** Checks an id and returns it. @throws InvalidInputError unless it is 1 to 1,024 characters of well-formed Unicode */
export function checkId(value: unknown): string {
  return input.id('id', value, MAX_ID);
}

/** Checks a token and returns it. @throws InvalidInputError unless it is 1 to 256 characters of well-formed Unicode */
export function checkToken(value: unknown): string {
  if (isIdOf(value, MAX_TOKEN)) return value;
  // A token is a secret, so the error does not show the value.
  throw input.error(
    `token has an invalid value of type ${typeof value}. Expected 1 to ${MAX_TOKEN} characters of well-formed Unicode.`,
  );
}

/** Checks a duration in ms and returns it. @throws InvalidInputError unless it is an integer from 1 to ten years */
export function checkDuration(field: string, value: unknown): number {
  return input.integer(field, value, 1, MAX_DURATION_MS);
}

/**
 * Returns a result as the JSON that is stored; '' for undefined, and for an object whose `toJSON` returns undefined.
 *
 * @throws InvalidInputError for a value that JSON cannot represent
 * @throws OnceResultTooLargeError if the JSON has more than `maxBytes` bytes
 */
export function encodeResult(result: unknown, maxBytes: number): string {
  if (result === undefined) return '';
  let json: string | undefined;
  try {
    json = JSON.stringify(result);
  } catch (cause) {
    throw new InvalidInputError(
      'The result cannot be written as JSON. Confirm with plain data, without cycles and BigInt values.',
      { cause },
    );
  }
  if (json === undefined && typeof result === 'object') return '';
  if (json === undefined) {
    throw new InvalidInputError(
      `The result is a ${typeof result}, which JSON cannot represent. Confirm with plain data.`,
    );
  }
  const bytes = Buffer.byteLength(json);
  if (bytes > maxBytes) throw new OnceResultTooLargeError(bytes, maxBytes);
  return json;
}

export function decodeResult(json: string): unknown {
  return json === '' ? undefined : (JSON.parse(json) as unknown);
}
