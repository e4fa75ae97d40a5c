/**
 * Marks what a handler resolved with as saying that its work is not done, such as a retry that it asks for. Whoever
 * notes work as done, as `once` does, must not note such work.
 */
export const UNFINISHED: unique symbol = Symbol.for('luanest.unfinished');

/** Whether a handler's result says that its work is not done. */
export function isUnfinished(result: unknown): boolean {
  return typeof result === 'object' && result !== null && (result as { [UNFINISHED]?: unknown })[UNFINISHED] === true;
}
