const MAX_CHARS = 80;

function textOf(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  return value instanceof Date ? `Date ${value.getTime()}` : 'an object';
}

/** Text that can forge no further line of a log, whatever names, ids or messages of others it quotes. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ');
}

/**
 * A value in a message: cut short, so that a hostile one cannot fill a log, and of objects nothing but that they are some,
 * since they may hold secrets and a `toString` of their own. Never throws.
 */
export function shown(value: unknown): string {
  let text: string;
  try {
    text = textOf(value);
  } catch {
    // A proxy may throw at whoever looks at it.
    text = 'something that cannot be shown';
  }
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}… (${text.length} characters)` : text;
}

/** Text of what was thrown, for a message. Never throws, whatever that was. */
export function thrownText(thrown: unknown): string {
  try {
    return thrown instanceof Error ? String(thrown) : shown(thrown);
  } catch {
    return 'an error that cannot be shown';
  }
}
