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
 * Returns a value as text for a message, cut to 80 characters. Objects are printed as `an object`, since they may hold secrets
 * or a `toString` that throws. Never throws.
 * See DECISIONS.md: messages-quote-no-objects
 */
export function shown(value: unknown): string {
  let text: string;
  try {
    text = textOf(value);
  } catch {
    // A revoked Proxy throws at any access.
    text = 'something that cannot be shown';
  }
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}… (${text.length} characters)` : text;
}

/** Returns the text of a thrown value, for a message. Never throws. */
export function thrownText(thrown: unknown): string {
  try {
    return thrown instanceof Error ? String(thrown) : shown(thrown);
  } catch {
    return 'an error that cannot be shown';
  }
}
