import { runInNewContext } from 'node:vm';
import { classOf, messageOf, shown, thrownKind } from '../src';

it('the message of a thrown value is never empty', () => {
  const refused = Object.assign(new AggregateError([new Error('a'), new Error('b')]), { code: 'ECONNREFUSED' });
  const foreign: unknown = runInNewContext("new Error('of another realm')");
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const thrown = [new Error('broken'), refused, new AggregateError([]), foreign, 'text', { toString: 1 }, proxy];
  expect(thrown.map(messageOf)).toEqual([
    ...['broken', 'ECONNREFUSED', 'AggregateError', 'of another realm'],
    ...['"text"', 'an object', 'a thrown value that cannot be shown'],
  ]);
});

it('text that is shown in a log is one line, and shows no text of an error', () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  class OrderError extends Error {}
  // As after Object.assign(error, payload).
  const forged = Object.assign(new TypeError('secret'), { constructor: { name: 'secret' } });
  const foreign: unknown = runInNewContext("new TypeError('secret')");
  expect(shown('a\nb\u2028\u0085')).toBe('"a\\nb "');
  expect([new OrderError('secret'), forged, foreign, 'secret', undefined, proxy].map(thrownKind)).toEqual([
    ...['OrderError', 'TypeError', 'TypeError'],
    ...['a thrown string', 'a thrown undefined', 'a thrown value that cannot be shown'],
  ]);
  expect(classOf(JSON.parse('{ "constructor": { "name": "secret" } }'))).toBe('an object of Object');
});

it('a text that is too long is shown with its own number of characters', () => {
  expect(shown('x'.repeat(301))).toBe(`"${'x'.repeat(79)}… (301 characters)`);
  expect(shown('"'.repeat(60))).toMatch(/… \(60 characters\)$/);
  expect(shown(10n ** 90n)).toMatch(/^1(0{79})… \(92 characters\)$/);
});
