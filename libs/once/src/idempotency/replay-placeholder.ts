const target = (): unknown => NO_VALUE;

/**
 * What interceptors outside get at a replay, in place of the handler's value, which is not stored.
 *
 * Its properties and calls give it again; it is empty when it is listed or written out. An interceptor that reads into the
 * handler's value does not fail, so a replay is not logged as an error. Nothing that is made of it is sent.
 */
export const NO_VALUE: unknown = new Proxy(target, {
  get(_target, key) {
    // It is not a promise or an observable, and not a redirect of Nest's, which has a url and a status.
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
