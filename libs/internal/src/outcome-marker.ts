/**
 * Key of a property that is true in a handler's result if the work is not done, such as in the result of `retryLater`. Code that records
 * finished work, such as luanest/once, must not record such work.
 */
export const UNFINISHED: unique symbol = Symbol.for('luanest.unfinished');

/** Returns true if the result of a handler means that its work is not done. */
export function isUnfinished(result: unknown): boolean {
  return typeof result === 'object' && result !== null && (result as { [UNFINISHED]?: unknown })[UNFINISHED] === true;
}

/**
 * Key of a property of a stream message. A handler of this package sets the property to true after it has moved the message from the stream
 * to a dead-letter list of its own. The consumer then stores no second dead letter, although the handler returns `deadLetter` for the event
 * and the log.
 */
export const MOVED: unique symbol = Symbol('luanest:moved');

/**
 * Key of a property in the options of a stream consumer. If it is true, the handlers themselves delete the entries that they have handled.
 * So an entry that still exists after its acknowledgement was brought back by a failover, and is delivered again.
 */
export const DELETES: unique symbol = Symbol('luanest:deletes');
