import { Checks, shown } from '../../internal/src';
import { InvalidOnceInputError, OnceResultTooLargeError } from './once.errors';

const MAX_ID = 1_024;
const MAX_TOKEN = 256;
/** The longest lease and retention: ten years, in ms. */
export const MAX_DURATION_MS = 3_650 * 86_400_000;

const input = new Checks('OnceService', (message) => new InvalidOnceInputError(message));

function checkText(field: string, value: unknown, maxChars: number): string {
  if (typeof value !== 'string' || value === '' || value.length > maxChars || !value.isWellFormed()) {
    // The value of a token is a secret.
    const seen = field === 'token' ? `of ${typeof value} type and not usable` : shown(value);
    throw input.error(`${field} is ${seen}. Expected 1 to ${maxChars} characters of well-formed Unicode.`);
  }
  return value;
}

/** An id. @throws InvalidOnceInputError unless it is 1 to 1,024 well-formed characters */
export function checkId(value: unknown): string {
  return checkText('id', value, MAX_ID);
}

/** A token. @throws InvalidOnceInputError unless it is 1 to 256 well-formed characters */
export function checkToken(value: unknown): string {
  return checkText('token', value, MAX_TOKEN);
}

/** A duration. @throws InvalidOnceInputError unless it is an integer of 1 ms to ten years */
export function checkDuration(field: string, value: unknown): number {
  return input.integer(field, value, 1, MAX_DURATION_MS);
}

/**
 * A result as the JSON that is stored; '' for undefined.
 *
 * @throws InvalidOnceInputError for what JSON cannot hold
 * @throws OnceResultTooLargeError beyond `maxBytes`
 */
export function encodeResult(result: unknown, maxBytes: number): string {
  if (result === undefined) return '';
  let json: string | undefined;
  try {
    json = JSON.stringify(result);
  } catch (cause) {
    throw new InvalidOnceInputError('The result cannot be written as JSON. Confirm with plain data.', { cause });
  }
  // An object whose `toJSON` says nothing.
  if (json === undefined && typeof result === 'object') return '';
  if (json === undefined) {
    throw new InvalidOnceInputError(
      `The result is a ${typeof result}, which JSON cannot hold. Confirm with plain data.`,
    );
  }
  const bytes = Buffer.byteLength(json);
  if (bytes > maxBytes) throw new OnceResultTooLargeError(bytes, maxBytes);
  return json;
}

/** A stored result as it was confirmed. */
export function decodeResult(json: string): unknown {
  return json === '' ? undefined : (JSON.parse(json) as unknown);
}
