const target = (): unknown => NO_VALUE;

/**
 * Placeholder that interceptors outside get at a replay, because the value of the handler is not stored.
 *
 * Its properties and calls return the placeholder again; it is empty when it is iterated or serialized. So an interceptor
 * that reads properties of the handler's value does not throw, and a replay is not logged as an error. The client never gets
 * the placeholder, or a value made from it.
 */
export const NO_VALUE: unknown = new Proxy(target, {
  get(_target, key) {
    // It must not look like a promise, an Observable, or a redirect of Nest, which has `url` and `statusCode`.
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
