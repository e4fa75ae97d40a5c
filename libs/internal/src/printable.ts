import { isNativeError } from 'node:util/types';

/** Maximum length of the text of a value in a message, characters. */
const MAX_CHARS = 80;

function textOf(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  return value instanceof Date ? `Date ${value.getTime()}` : 'an object';
}

/** Replaces control characters and line breaks by spaces, so that text in a log message cannot look like another line of the log. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ');
}

/**
 * Returns a value as text for a message: one line, with at most 80 characters of the value. The text of an array has only its length, and
 * that of a Date its time. The text of any other object is `an object`, because the object may contain secrets, or a `toString` that
 * throws. Never throws.
 * See DECISIONS.md: messages-quote-no-objects
 */
export function shown(value: unknown): string {
  let text: string;
  try {
    text = oneLine(textOf(value));
  } catch {
    // A revoked Proxy throws an error whenever it is read.
    text = 'something that cannot be shown';
  }
  if (text.length <= MAX_CHARS) return text;
  // The length is that of the value, without the quotes and escapes of `text`, because limits apply to the value.
  const { length } = typeof value === 'string' ? value : text;
  return `${text.slice(0, MAX_CHARS)}… (${length} characters)`;
}

/** Returns true for an error. The error may come from another realm, as errors of Node do in a test of Jest. */
function isError(thrown: unknown): thrown is NodeJS.ErrnoException {
  return isNativeError(thrown) || thrown instanceof Error;
}

/**
 * Returns the message of an error. If the message is empty, returns the code or the name of the error; some errors of Node for a host
 * with several addresses have no message. For any other thrown value, returns the text of `shown`. Never throws.
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
 * Returns the name of the class of an object. Does not read a property `constructor` of the object itself, because this may be part of a
 * payload.
 *
 * @throws TypeError for an object without a class; for a Proxy, the error that it throws
 */
export function classNameOf(value: object): string {
  const { constructor } = Object.getPrototypeOf(value) as object;
  return constructor.name;
}

/**
 * Returns the class of a thrown error, or the type of another thrown value. For logs, because the message of an error may contain secrets
 * of the app. Never throws.
 */
export function thrownKind(thrown: unknown): string {
  try {
    return isError(thrown) ? classNameOf(thrown) : `a thrown ${typeof thrown}`;
  } catch {
    return 'a thrown value that cannot be shown';
  }
}
