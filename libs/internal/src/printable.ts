import { isNativeError } from 'node:util/types';

/** Longest text of a value in a message, characters. */
const MAX_CHARS = 80;

function textOf(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  return value instanceof Date ? `Date ${value.getTime()}` : 'an object';
}

/** Replaces control characters and line breaks by spaces, so that quoted text cannot forge a line of a log. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ');
}

/**
 * Returns a value as text for a message: one line, at most 80 characters of the value. For an array, shows only the length; for a
 * Date, the time; for other objects, `an object`, since they may hold secrets or a `toString` that throws. Never throws.
 * See DECISIONS.md: messages-quote-no-objects
 */
export function shown(value: unknown): string {
  let text: string;
  try {
    text = oneLine(textOf(value));
  } catch {
    // A revoked Proxy throws at any access.
    text = 'something that cannot be shown';
  }
  if (text.length <= MAX_CHARS) return text;
  // Without the quotes and escapes of the shown text, since limits are for the value.
  const { length } = typeof value === 'string' ? value : text;
  return `${text.slice(0, MAX_CHARS)}… (${length} characters)`;
}

/** Returns true for an error, also of another realm, such as Node's own errors in a test of Jest. */
function isError(thrown: unknown): thrown is NodeJS.ErrnoException {
  return isNativeError(thrown) || thrown instanceof Error;
}

/**
 * Returns the message of an error, or its code or name if it has no message, as some errors of Node for a host with several addresses.
 * Other thrown values are printed as by `shown`. Never throws.
 */
export function messageOf(thrown: unknown): string {
  try {
    if (!isError(thrown)) return shown(thrown);
    const [text = ''] = [thrown.message, thrown.code, thrown.name].filter(Boolean);
    return text;
  } catch {
    return 'a thrown value that cannot be shown';
  }
}

/** Returns a thrown value as text for a message: an error as `String()` does, other values as `shown` does. Never throws. */
export function thrownText(thrown: unknown): string {
  try {
    return isError(thrown) ? String(thrown) : shown(thrown);
  } catch {
    return 'a thrown value that cannot be shown';
  }
}

/**
 * Returns the name of an object's class. Does not read the object's own property `constructor`, which may be a part of a payload.
 *
 * @throws TypeError for an object without a class; what a Proxy throws
 */
export function classNameOf(value: object): string {
  const { constructor } = Object.getPrototypeOf(value) as object;
  return constructor.name;
}

/**
 * Returns the class of a thrown error, or the type of another thrown value. For logs, because the text of an error may quote what
 * the app keeps secret. Never throws.
 */
export function thrownKind(thrown: unknown): string {
  try {
    return isError(thrown) ? classNameOf(thrown) : `a thrown ${typeof thrown}`;
  } catch {
    return 'a thrown value that cannot be shown';
  }
}
