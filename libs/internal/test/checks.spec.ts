import { Checks, InvalidOptionError } from '../src';

class Refused extends Error {}

describe('checks of options', () => {
  const checks = new Checks('LockModule');

  it.each<[string, () => unknown]>([
    ['leaseMs is "30s". Expected an integer from 10 to 2147483647 ms.', () => checks.integer('leaseMs', '30s', 10)],
    ['leaseMs is 0.5. Expected an integer from 1 to 9 ms, not seconds.', () => checks.integer('leaseMs', 0.5, 1, 9)],
    ['factor is NaN. Expected a number from 1 to 2.', () => checks.number('factor', Number.NaN, 1, 2)],
    ['renew is 1. Expected true or false.', () => checks.flag('renew', 1)],
    ['name is "". Expected 1 to 9 letters.', () => checks.text('name', '', /^[a-z]{1,9}$/, '1 to 9 letters')],
    ["mode is 1. Expected 'a' or 'b'.", () => checks.choice('mode', 1, ['a', 'b'])],
    ["mode is null. Expected one of 'a', 'b', 'c'.", () => checks.choice('mode', null, ['a', 'b', 'c'])],
    [
      'id is null. Expected a function from a request to an id.',
      () => checks.fn('id', null, 'from a request to an id'),
    ],
    ['id is undefined. Expected a function.', () => checks.fn('id', undefined)],
    ['onClosed is 1. Expected a function.', () => checks.optionalFn('onClosed', 1)],
    ['rules is an object. Expected an array of rules.', () => checks.list('rules', {}, 'an array of rules')],
    ['The options are an array of 0. Expected an object.', () => checks.object('', [])],
    ['streams is of the type Map. Expected an object.', () => checks.object('streams', new Map())],
    [
      'breaker is null. Expected an object. Known options: openMs.',
      () => checks.options('breaker', null, { openMs: 1 }),
    ],
    ['There is no option "b". Known: a.', () => checks.options('', { b: 1 }, { a: 1 } as never)],
    [
      'There is no option "b" in rules[0]. Known: a.',
      () => checks.in('rules[0]').options('', { b: 1 }, { a: 1 } as never),
    ],
    [
      'rules[0].limit is 0. Expected an integer from 1 to 2.',
      () => checks.in('rules').in('[0]').integer('limit', 0, 1, 2),
    ],
  ])('%s', (sentence, check) => {
    expect(check).toThrow(InvalidOptionError);
    expect(check).toThrow(new InvalidOptionError(`LockModule: ${sentence}`));
  });

  it('return what they accept', () => {
    const options = { a: 1 };
    expect(checks.options('', options, { a: true })).toBe(options);
    expect([checks.integer('a', 7, 7, 7), checks.number('a', 0.5, 0, 1), checks.flag('a', false)]).toEqual([
      7,
      0.5,
      false,
    ]);
    expect([checks.choice('a', 'b', ['b', 'c']), checks.optionalFn('a', undefined)]).toEqual(['b', undefined]);
    expect([checks.text('a', 'x', /x/, 'x'), checks.list('a', [1])]).toEqual(['x', [1]]);
  });

  it('let an instance of a class have further properties', () => {
    class Config {
      readonly a = 1;
      readonly secret = 'kept';
    }
    expect(checks.options('', new Config(), { a: true } as never)).toBeInstanceOf(Config);
  });

  it('make the errors of another kind, and without a place', () => {
    const input = new Checks('', (message) => new Refused(message)).in('filter');
    expect(() => input.integer('limit', 0, 1, 2)).toThrow(
      new Refused('filter.limit is 0. Expected an integer from 1 to 2.'),
    );
  });
});
