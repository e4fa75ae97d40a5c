import type { HttpRequest } from '../src/idempotency/request-body';
import { fingerprintOf, idOf, readKey, subjectOf } from '../src/idempotency/request-identity';

const request = (parts: Partial<HttpRequest> = {}): HttpRequest => ({
  method: 'POST',
  url: '/orders',
  headers: {},
  body: { a: 1 },
  ...parts,
});

describe('the key of a request', () => {
  it.each<[string, string | string[] | undefined, string | null | undefined]>([
    ['none', undefined, undefined],
    ['plain', 'abc', 'abc'],
    ['in quotation marks', '"abc"', 'abc'],
    ['with spaces around', '  "abc"\t', 'abc'],
    ['of all characters that are allowed', '!#+-~', '!#+-~'],
    ['of 255 characters', 'a'.repeat(255), 'a'.repeat(255)],
    ['of 255 characters in quotation marks', `"${'a'.repeat(255)}"`, 'a'.repeat(255)],
    ['of 256 characters', 'a'.repeat(256), null],
    ['empty', '', null],
    ['empty in quotation marks', '""', null],
    ['one quotation mark', '"', null],
    ['a quotation mark at the beginning only', '"abc', null],
    ['a quotation mark at the end only', 'abc"', null],
    ['a quotation mark inside', 'a"b', null],
    ['a comma', 'a,b', null],
    ['a space inside', 'a b', null],
    ['another script', 'ключ', null],
    ['a character before the allowed ones', 'a\u001f', null],
    ['a character after the allowed ones', 'a\u007f', null],
    ['two headers', ['a', 'b'], null],
  ])('%s', (_, header, key) => {
    expect(readKey(header)).toBe(key);
  });
});

describe('the user of a request', () => {
  it.each<[unknown, string]>([
    ['u1', 'u1'],
    [5, '5'],
    [-0, '0'],
    [12n, '12'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
  ])('%p is %s', (known, subject) => {
    expect(subjectOf(known)).toBe(subject);
  });

  it.each([undefined, null, ''])('is refused if it is unknown: %p', (known) => {
    expect(() => subjectOf(known)).toThrow(
      expect.objectContaining({
        code: 'SUBJECT_UNKNOWN',
        message: 'This request has no authenticated user. Log in, and send it again.',
      }) as Error,
    );
  });

  it.each([[1.5], [2 ** 53], [{}], [true], [Promise.resolve('u')]])(
    'is an error of the app if it is not an id: %p',
    (known) => {
      expect(() => subjectOf(known)).toThrow(
        /^OnceModule: idempotency\.subject returned .* for a request\. Expected the user's id: a string/,
      );
    },
  );
});

describe('the id of a key', () => {
  it('is not the same for two users, or for a user and a key that look like another pair', () => {
    expect(idOf('u', 'k')).toBe('http:1:u:k');
    expect(idOf('a:1', 'b')).not.toBe(idOf('a', '1:b'));
  });

  it('is a hash if it is long, or not well-formed', () => {
    const whole = idOf('u', 'k'.repeat(503));
    expect([whole.length, whole.startsWith('http:1:u:k')]).toEqual([512, true]);
    expect(idOf('u', 'k'.repeat(504))).toMatch(/^http-hash:[\w-]{43}$/);
    expect(idOf('\ud800', 'k')).toMatch(/^http-hash:[\w-]{43}$/);
    expect(idOf('\ud800', 'k')).not.toBe(idOf('\ud801', 'k'));
  });
});

describe('the fingerprint of a request', () => {
  const of = (parts: Partial<HttpRequest> = {}, subject = 'u') => fingerprintOf(request(parts), subject, undefined);

  it('is the same for a repeat, and differs by method, URL, user and content', () => {
    expect(of()).toMatch(/^[\w-]{43}$/);
    expect(of({ body: { a: 1 } })).toBe(of());
    const others = [
      of({ method: 'PUT' }),
      of({ url: '/x' }),
      of({ originalUrl: '/v1/orders' }),
      of({ body: {} }),
      of({}, 'v'),
    ];
    expect(new Set([of(), ...others]).size).toBe(6);
  });

  it('has the URL before a router changed it', () => {
    expect(of({ originalUrl: '/v1/orders', url: '/orders' })).toBe(of({ originalUrl: '/v1/orders', url: '/other' }));
    expect(of({ originalUrl: '/orders' })).toBe(of());
  });

  it('does not mix up its parts', () => {
    expect(of({ method: 'A', url: 'B1' })).not.toBe(of({ method: 'AB', url: '1' }));
  });

  it('is that of the content of a blob', async () => {
    const one = await of({ body: { file: new Blob(['a']) } });
    expect(one).toMatch(/^[\w-]{43}$/);
    expect(await of({ body: { file: new Blob(['a']) } })).toBe(one);
    expect(await of({ body: { file: new Blob(['b']) } })).not.toBe(one);
  });

  it('is that of the text which the app returns, at once or later', async () => {
    const own = (text: unknown) => fingerprintOf(request(), 'u', () => text as string);
    expect(own('a')).toBe(own('a'));
    expect(own('a')).not.toBe(own('b'));
    expect(await own(Promise.resolve('a'))).toBe(own('a'));
    // The same text as content is something else.
    expect(fingerprintOf(request(), 'u', () => '{"a":1}')).not.toBe(of());
  });

  it.each([undefined, null, 5])('is an error of the app if its function returns no text: %p', async (text) => {
    const error = `The option fingerprint of an idempotent route returned ${String(text)}. Expected a string.`;
    expect(() => fingerprintOf(request(), 'u', () => text as never)).toThrow(error);
    const later = fingerprintOf(request(), 'u', () => Promise.resolve(text) as never);
    await expect(later).rejects.toThrow(error);
  });

  it('is refused for content that is nested too deeply or cannot be compared', () => {
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i++) deep = [deep];
    expect(() => of({ body: deep })).toThrow(
      expect.objectContaining({
        code: 'BODY_TOO_DEEP',
        message: 'The body is nested too deeply. Send a body with fewer levels.',
        cause: expect.any(RangeError) as unknown,
      }) as Error,
    );
    expect(() => of({ body: { f: () => 1 } })).toThrow(
      expect.objectContaining({
        code: 'BODY_NOT_COMPARABLE',
        message:
          'This route cannot compare the content of this request with the content of a repeat, so it refused the request. Send content that can be compared, such as JSON.',
        cause: expect.objectContaining({ message: 'a function' }) as unknown,
      }) as Error,
    );
  });

  it('passes on another error of the content', () => {
    const body = { toJSON: () => { throw new TypeError('own'); } }; // prettier-ignore
    expect(() => of({ body })).toThrow(new TypeError('own'));
  });
});
