import { Checks, isIdOf, InvalidInputError } from '../../internal/src';

const MAX_ID = 1_024;
const MAX_TOKEN = 256;
/** Shortest `leaseMs`, ms. A lease ends 1 ms earlier in the process than in Redis, so a lease of 1 ms would end at once. */
export const MIN_LEASE_MS = 10;
/** Longest `leaseMs`, `maxLeaseMs` and `retentionMs`, ms: ten years. */
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
    `token is a ${typeof value} that is not a valid token (the value is secret, so it is not shown). Expected 1 to ${MAX_TOKEN} characters of well-formed Unicode.`,
  );
}

/** Checks the length of a lease in ms and returns it. @throws InvalidInputError unless it is an integer from 10 to ten years */
export function checkLease(value: unknown): number {
  return input.integer('leaseMs', value, MIN_LEASE_MS, MAX_DURATION_MS);
}

/** Checks a retention in ms and returns it. @throws InvalidInputError unless it is an integer from 1 to ten years */
export function checkRetention(value: unknown): number {
  return input.integer('retentionMs', value, 1, MAX_DURATION_MS);
}

/** Errors of results that are too large, to recognise them for the event `resultDropped`. */
const tooLarge = new WeakSet<object>();

/**
 * Creates the error for a result that is too large. Nothing was written, so the claim stays as it was.
 *
 * @param bytes size of the result as JSON, or of the body of a response, bytes
 * @param maxBytes `maxResultBytes` of the module
 */
export function resultTooLarge(bytes: number, maxBytes: number): InvalidInputError {
  const error = new InvalidInputError(
    `OnceModule: The result was not stored, and the id was not confirmed, because the result has ${bytes} bytes (its JSON, or the ` +
      `body of a response). At most ${maxBytes} bytes are allowed, headers included (maxResultBytes). Return a smaller result, such as ` +
      'an id, or raise maxResultBytes.',
  );
  tooLarge.add(error);
  return error;
}

/** Returns true for an error that `resultTooLarge` made. */
export function isTooLarge(error: unknown): boolean {
  return tooLarge.has(error as object);
}

/**
 * Returns a result as the JSON that is stored; '' for undefined, and for an object whose `toJSON` returns undefined.
 *
 * @throws InvalidInputError for a value that JSON cannot represent, or whose JSON has more than `maxBytes` bytes
 */
export function encodeResult(result: unknown, maxBytes: number): string {
  if (result === undefined) return '';
  let json: string | undefined;
  try {
    json = JSON.stringify(result);
  } catch (cause) {
    throw new InvalidInputError(
      'OnceModule: The result cannot be written as JSON, so it was not stored. Return plain data, without cycles and BigInt values.',
      { cause },
    );
  }
  if (json === undefined && typeof result === 'object') return '';
  if (json === undefined) {
    throw new InvalidInputError(
      `OnceModule: The result is a ${typeof result}, which JSON cannot represent, so it was not stored. Return plain data.`,
    );
  }
  const bytes = Buffer.byteLength(json);
  if (bytes > maxBytes) throw resultTooLarge(bytes, maxBytes);
  return json;
}

export function decodeResult(json: string): unknown {
  return json === '' ? undefined : (JSON.parse(json) as unknown);
}
