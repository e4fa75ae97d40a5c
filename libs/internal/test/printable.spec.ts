import { runInNewContext } from 'node:vm';
import { messageOf, shown, thrownKind } from '../src';

it('the message of a thrown value is never empty', () => {
  const refused = Object.assign(new AggregateError([new Error('a'), new Error('b')]), { code: 'ECONNREFUSED' });
  const foreign: unknown = runInNewContext("new Error('of another realm')");
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const thrown = [new Error('broken'), refused, new AggregateError([]), foreign, 'text', { toString: 1 }, proxy];
  expect(thrown.map(messageOf)).toEqual([
    ...['broken', 'ECONNREFUSED', 'AggregateError', 'of another realm'],
    ...['"text"', 'an object', 'an error that cannot be shown'],
  ]);
});

it('text that is shown in a message or a log is one line', () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  class OrderError extends Error {}
  const forged = Object.assign(new Error('secret'), { constructor: { name: 'a\nb\u2028\u0085' } });
  const foreign: unknown = runInNewContext("new TypeError('secret')");
  expect(shown('a\nb\u2028\u0085')).toBe('"a\\nb "');
  expect([new OrderError('secret'), forged, foreign, 'secret', undefined, proxy].map(thrownKind)).toEqual([
    ...['OrderError', 'a b ', 'TypeError', 'a thrown string', 'a thrown undefined', 'an error that cannot be shown'],
  ]);
  expect(thrownKind(Object.assign(new Error(), { constructor: undefined }))).toBe('an error that cannot be shown');
});
