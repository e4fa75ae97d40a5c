const target = (): unknown => NO_VALUE;

/**
 * Stands for the value of the handler when a stored response is replayed. Outer interceptors get this placeholder, because the handler did
 * not run.
 *
 * An interceptor can read properties of the placeholder and call it, and gets the placeholder again, so it does not throw. Iterating gives
 * no entries, and its JSON is null. The client never gets it, because the stored response was sent already.
 */
export const NO_VALUE: unknown = new Proxy(target, {
  get(_target, key) {
    // With these properties, Nest would take the placeholder for a promise, an Observable or a redirect.
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
