const target = (): unknown => NO_VALUE;

/**
 * Placeholder for the value of the handler at a replay, where the handler does not run. Interceptors outside of `@Idempotent()`
 * get it.
 *
 * Reading most properties and calling the placeholder return the placeholder again. It has no entries when it is iterated, and
 * is null as JSON. So an interceptor that reads properties of the handler's value does not throw. The client never gets the
 * placeholder, or a value made from it: the stored response was sent already.
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
