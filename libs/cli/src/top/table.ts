/**
 * Returns a line of a table: the first cell begins at the left, and each other cell ends at the right of its column.
 *
 * @param first width of the first column
 */
export function row([name = '', ...rest]: readonly string[], first: number): string {
  return name.padEnd(first) + rest.map((cell) => cell.padStart(10)).join('');
}

/** Returns a number with at most one decimal. */
export function rounded(n: number): string {
  return Math.abs(n) >= 100 || Number.isInteger(n) ? String(Math.round(n)) : n.toFixed(1);
}
