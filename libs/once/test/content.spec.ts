import { createHash } from 'node:crypto';
import { runInNewContext } from 'node:vm';
import { canonical, digest, NotComparableError } from '../src/idempotency/canonical';

const sha = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('base64url');

class Address {
  city = 'x';
}

describe('the text of a value', () => {
  it.each<[string, unknown, string]>([
    ['text', 'a"b', '"a\\"b"'],
    ['a number', 1.5, '1.5'],
    ['zero', 0, '0'],
    ['minus zero', -0, '0'],
    ['NaN', NaN, 'NaN'],
    ['true', true, 'true'],
    ['a bigint', 12n, '12n'],
    ['undefined', undefined, 'null'],
    ['null', null, 'null'],
    ['an array', [1, 'a', [undefined]], '[1,"a",[null]]'],
    ['an object, with sorted keys', { b: 1, a: { d: 2, c: 3 } }, '{"a":{"c":3,"d":2},"b":1}'],
    ['an object without its undefined fields', { b: undefined, a: 1, c: undefined, d: 2 }, '{"a":1,"d":2}'],
    ['an empty object', {}, '{}'],
    ['an object without a prototype', Object.assign(Object.create(null) as object, { a: 1 }), '{"a":1}'],
    ['an object of another realm', runInNewContext('({ a: 1 })'), '{"a":1}'],
    ['a date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['an invalid date', new Date(NaN), 'null'],
    ['a map', new Map<unknown, unknown>([['b', 1], [2, { x: 1 }]]), 'map["b":1,2:{"x":1}]'], // prettier-ignore
    ['a set', new Set([2, 'a']), 'set[2,"a"]'],
    ['URL parameters', new URLSearchParams('b=1&a=2'), 'params["b":"1","a":"2"]'],
    ['an object with toJSON', { toJSON: () => ({ a: 1 }), b: 2 }, '{"a":1}'],
    ['an instance with toJSON', Object.assign(new Address(), { toJSON: () => 'home' }), '"home"'],
    ['a field toJSON that is not a function', { toJSON: 1 }, '{"toJSON":1}'],
  ])('%s', (_, value, text) => {
    expect(canonical(value)).toBe(text);
  });

  it('has the hash of bytes, of exactly the part that a view shows', () => {
    const buffer = new Uint8Array([1, 2, 3, 4]).buffer;
    expect(canonical(new Uint8Array(buffer, 1, 2))).toBe(`bytes(${sha(new Uint8Array([2, 3]))})`);
    expect(canonical(buffer)).toBe(`bytes(${sha(new Uint8Array([1, 2, 3, 4]))})`);
    expect(canonical({ file: Buffer.from('abc') })).toBe(`{"file":bytes(${sha('abc')})}`);
    expect(canonical(new DataView(buffer, 3))).toBe(`bytes(${sha(new Uint8Array([4]))})`);
  });

  it('has the name, type, size and content of each blob', async () => {
    const form = new FormData();
    form.append('a', new File(['abc'], 'a.txt', { type: 'text/plain' }));
    form.append('b', 'text');
    const blob = new Blob(['xy']);
    expect(await canonical([form, blob])).toBe(
      `[form["a":blob("a.txt","text/plain",3),"b":"text"],blob("","",2)] ${sha('abc')} ${sha('xy')}`,
    );
  });

  it('of the same object twice is not circular', () => {
    const shared = { a: 1 };
    expect(canonical([shared, shared])).toBe('[{"a":1},{"a":1}]');
  });

  it('is the same for objects whose fields were set in another order, and differs for lists in another order', () => {
    expect(canonical({ a: 1, b: 2 })).toBe(canonical({ b: 2, a: 1 }));
    expect(canonical([1, 2])).not.toBe(canonical([2, 1]));
  });
});

describe('a value that cannot be compared', () => {
  const circular: unknown[] = [];
  circular.push([circular]);

  it.each<[string, unknown]>([
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
    ['a circular object', circular],
    ['an instance of Address', new Address()],
    ['an instance of Promise', Promise.resolve()],
    ['an instance of an unknown class', new (class {})()],
    ['an instance of an unknown class', Object.create({ constructor: undefined, x: Object.create(null) as object })],
    ['an instance of an unknown class', Object.create({ constructor: { name: 1 } })],
  ])('is named: %s', (message, value) => {
    expect(() => canonical({ deep: [value] })).toThrow(new NotComparableError(message));
    expect(() => canonical(value)).toThrow(NotComparableError);
  });

  it('throws RangeError if it is nested too deeply', () => {
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i++) deep = [deep];
    expect(() => canonical(deep)).toThrow(RangeError);
  });
});

describe('the digest of a text', () => {
  it('is its SHA-256 as UTF-8', () => {
    expect(digest('é')).toBe(sha('é'));
    expect(digest('')).toBe(sha(''));
  });

  it('differs for different lone surrogates', () => {
    expect(digest('\ud800')).not.toBe(digest('\ud801'));
    expect(digest('\ud800')).toBe(sha(Buffer.from('\ud800', 'utf16le')));
  });
});
