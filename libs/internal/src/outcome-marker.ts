/**
 * Key of a property that is true in a result of a handler if the work is not done, for example because the handler asks for a retry. Code
 * that marks work as done, such as luanest/once, must not mark such work.
 */
export const UNFINISHED: unique symbol = Symbol.for('luanest.unfinished');

/** Returns true if a handler's result means that its work is not done. */
export function isUnfinished(result: unknown): boolean {
  return typeof result === 'object' && result !== null && (result as { [UNFINISHED]?: unknown })[UNFINISHED] === true;
}

/**
 * Key of a property of a stream message. A handler of this package sets the property to true if it has stored the message as its own dead
 * letter, and removed the entry from the stream. The handler then returns `deadLetter`, for the event and the log. The consumer does not
 * store another dead letter. If a failover has brought the entry back, the message is handled again.
 */
export const MOVED: unique symbol = Symbol('luanest:moved');

/**
 * Key of a property in the options of a consumer. It says that the handlers delete the entries that they have handled, with their own
 * scripts. An acknowledgement then counts only for entries that do not exist any more. If an entry still exists, a failover has brought
 * it back, so it is delivered again.
 */
export const DELETES: unique symbol = Symbol('luanest:deletes');
