/**
 * Cents of an amount such as `10000.00`, `10000.5` or `10000`; exact, since no floating point takes part.
 *
 * @throws {RangeError} when the text is no positive amount with at most two decimals, or too large to be exact
 */
export function parseCents(text: string): number {
  const match = /^(\d{1,15})(?:\.(\d{1,2}))?$/.exec(text);
  const cents = match === null ? 0 : Number(`${match[1]}${(match[2] ?? '').padEnd(2, '0')}`);
  if (Number.isSafeInteger(cents) && cents > 0) return cents;
  throw new RangeError(`${JSON.stringify(text)} is no amount of money. Write one like 10000.00, at least 0.01.`);
}

/** An amount in cents with two decimals, e.g. 1000000 as `10000.00`. */
export function formatCents(cents: number): string {
  const digits = String(Math.abs(cents)).padStart(3, '0');
  return `${cents < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
