import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { eventStream } from 'luanest/transport';
import { requestStream } from '../src/transport.patterns';

const NAME = /^[\w.:-]{1,100}$/;

it.each([
  ['order.paid', 'nest.event.order.paid'],
  ['order_paid-2', 'nest.event.order_paid-2'],
  ['order:paid', 'nest.event.order:3apaid'],
  ['', 'nest.event.'],
  ['ä', 'nest.event.:c3:a4'],
  [7, 'nest.event.7'],
  [{ cmd: 'sum' }, 'nest.event.:7b:22cmd:22:3a:22sum:22:7d'],
  [{ b: 1, a: 2 }, eventStream({ a: 2, b: 1 }).name],
  ['a'.repeat(87), `nest.event.${'a'.repeat(87)}`],
  ['a'.repeat(88), `nest.event.::${createHash('sha256').update('a'.repeat(88)).digest('hex')}`],
])('the pattern %j has a stream', (pattern, name) => {
  expect(eventStream(pattern).name).toBe(name);
});

it('each pattern has a stream of its own, with a name that a stream may have', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('a', ':', '3', '::', ' ') }),
    fc.string({ minLength: 80, maxLength: 300 }),
  );
  fc.assert(
    fc.property(text, text, (one, other) => {
      const names = [eventStream(one).name, eventStream(other).name, requestStream(one).name];
      for (const name of names) expect(name).toMatch(NAME);
      expect(new Set(names).size).toBe(one === other ? 2 : 3);
    }),
  );
});

it('a pattern that is not well-formed has no stream', () => {
  expect(() => eventStream('\ud800')).toThrow(/well-formed/);
});
