const target = (): unknown => NO_VALUE;

/**
 * Placeholder for the value that the handler returns. At a replay the handler does not run, so interceptors that wrap
 * `@Idempotent()` get this placeholder instead of a value.
 *
 * Most of its properties are the placeholder itself, and a call of the placeholder returns the placeholder, too. Iterating over
 * it gives no entries, and its JSON is null. So an interceptor that reads properties of the handler's value does not throw. The
 * client never gets the placeholder, or a value made from it: the stored response was sent already.
 */
export const NO_VALUE: unknown = new Proxy(target, {
  get(_target, key) {
    // With these properties the placeholder would look like a promise, an Observable, or a redirect of Nest.
    if (key === 'then' || key === 'subscribe' || key === 'url' || key === 'statusCode') return undefined;
    if (key === 'toJSON') return () => null;
    if (key === 'toString') return () => '';
    if (key === Symbol.toPrimitive) return (hint: string) => (hint === 'number' ? 0 : '');
    if (key === Symbol.iterator) return () => [][Symbol.iterator]();
    return typeof key === 'symbol' ? undefined : NO_VALUE;
  },
  set: () => true,
  deleteProperty: () => true,
});
