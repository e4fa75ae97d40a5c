/**
 * Property that marks a handler's result as "the work is not done", for example because the handler asks for a retry. Code that
 * records work as done, such as luanest/once, must not record such work.
 */
export const UNFINISHED: unique symbol = Symbol.for('luanest.unfinished');

/** Returns true if a handler's result means that its work is not done. */
export function isUnfinished(result: unknown): boolean {
  return typeof result === 'object' && result !== null && (result as { [UNFINISHED]?: unknown })[UNFINISHED] === true;
}

/**
 * Property of a stream message. Code of this package sets it to true if it has moved the entry to dead letters of its own, and
 * returns `deadLetter` for the event and the log. The consumer then keeps no dead letter: if a failover has brought the entry back,
 * the message is handled again.
 */
export const MOVED: unique symbol = Symbol('luanest:moved');

/**
 * Property of the options of a consumer whose handlers delete the entries that they have handled, in scripts of their own. An
 * acknowledgement then settles only entries that are gone. One that is still there was brought back by a failover, and is delivered
 * again.
 */
export const DELETES: unique symbol = Symbol('luanest:deletes');
