import { runInNewContext } from 'node:vm';
import { messageOf } from '../src';

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
