/**
 * Parses an amount such as `10000.00`, `10000.5` or `10000` as cents, without floating point.
 *
 * @throws {RangeError} if the text is not a positive amount with at most two decimals, or is above 2^53 - 1 cents
 */
export function parseCents(text: string): number {
  const match = /^(\d{1,15})(?:\.(\d{1,2}))?$/.exec(text);
  const cents = match === null ? 0 : Number(`${match[1]}${(match[2] ?? '').padEnd(2, '0')}`);
  if (Number.isSafeInteger(cents) && cents > 0) return cents;
  throw new RangeError(
    `${JSON.stringify(text)} is not an amount of money. Expected one like 10000.00, from 0.01 to 90071992547409.91.`,
  );
}

/** Formats cents with two decimals: 1000000 as `10000.00`. */
export function formatCents(cents: number): string {
  const digits = String(Math.abs(cents)).padStart(3, '0');
  return `${cents < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
