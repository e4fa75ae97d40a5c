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

/** Replaces line breaks and control characters by spaces, so that no text can fake a line of the log. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ');
}

/**
 * Returns a value as text for a message, on one line. Longer text is cut after 80 characters. An array is shown by its length, and a Date
 * by its time. Any other object is shown as `an object`, because it may contain secrets or a `toString` that throws. Never throws.
 * See DECISIONS.md: messages-quote-no-objects
 */
export function shown(value: unknown): string {
  let text: string;
  try {
    text = oneLine(textOf(value));
  } catch {
    // A revoked Proxy throws whenever it is read.
    text = 'something that cannot be shown';
  }
  if (text.length <= MAX_CHARS) return text;
  // Limits apply to the value itself, so the length does not count the quotes and escapes in `text`.
  const { length } = typeof value === 'string' ? value : text;
  return `${text.slice(0, MAX_CHARS)}… (${length} characters)`;
}

/** Returns true for an error, even if it comes from another realm, as Node's errors do in a test of Jest. */
function isError(thrown: unknown): thrown is NodeJS.ErrnoException {
  return isNativeError(thrown) || thrown instanceof Error;
}

/**
 * Returns the message of an error. Some network errors of Node have an empty message; then returns the code or the name of the error.
 * Describes any other thrown value with `shown`. Never throws.
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

/** Describes a thrown value in a message: an error by its name and message, any other value with `shown`. Never throws. */
export function thrownText(thrown: unknown): string {
  try {
    return isError(thrown) ? String(thrown) : shown(thrown);
  } catch {
    return 'a thrown value that cannot be shown';
  }
}

/**
 * Returns the class name of an object. Ignores a property `constructor` of the object itself, because it may come from a payload.
 *
 * @throws TypeError for an object without a class; for a Proxy, the error that it throws
 */
export function classNameOf(value: object): string {
  const { constructor } = Object.getPrototypeOf(value) as object;
  return constructor.name;
}

/**
 * Returns the class of a thrown error, or the type of another thrown value. Logs use it instead of the message, which may contain secrets
 * of the app. Never throws.
 */
export function thrownKind(thrown: unknown): string {
  try {
    return isError(thrown) ? classNameOf(thrown) : `a thrown ${typeof thrown}`;
  } catch {
    return 'a thrown value that cannot be shown';
  }
}
