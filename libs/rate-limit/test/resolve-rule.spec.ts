import { Checks } from '../../internal/src';
import { MAX_DURATION_MS, MAX_HITS, named, resolveRule } from '../src/rules/resolve-rule';

const good = { limit: 1, windowMs: 1_000 };

function resolve(rule: object): ReturnType<typeof resolveRule> {
  return resolveRule({ ...good, ...rule });
}

describe('a rule', () => {
  it('has defaults', () => {
    expect(resolve({})).toEqual({
      ...good,
      ...{ algorithm: 'fixed-window', cost: 1, count: 'all', blockMs: 0, maxBlockMs: 0, shadow: false },
    });
  });

  it('keeps what it says', () => {
    const rule = {
      ...{
        name: 'a',
        limit: () => 5,
        windowMs: 7,
        algorithm: 'token-bucket',
        burst: 3,
        subject: () => 's',
        cost: () => 2,
      },
      ...{
        skip: () => false,
        count: 'failures',
        blockMs: 9,
        maxBlockMs: 9,
        shadow: true,
        onRedisError: 'deny',
      },
    };
    expect(resolve(rule)).toEqual(rule);
  });

  it('cannot be changed', () => {
    const rule = resolve({});
    expect([rule, named(rule, 'a')].map((one) => Object.isFrozen(one))).toEqual([true, true]);
  });

  it('may have a limit and a cost of functions, which are not compared', () => {
    const functions = { limit: (): number => 1, cost: (): number => 5 };
    expect(resolve(functions)).toMatchObject(functions);
  });

  it('gets another name without being changed', () => {
    const rule = resolve({ name: 'a' });
    expect([named(rule, 'b'), rule.name]).toEqual([{ ...rule, name: 'b' }, 'a']);
  });

  it.each([
    ['the longest window and block', { windowMs: MAX_DURATION_MS, blockMs: MAX_DURATION_MS }],
    ['the shortest window', { windowMs: 1 }],
    ['the most hits', { limit: MAX_HITS, cost: MAX_HITS }],
    ['the most hits of a log', { algorithm: 'sliding-log', limit: 10_000 }],
    ['the largest burst', { algorithm: 'token-bucket', burst: MAX_HITS }],
    ['the smallest burst', { algorithm: 'token-bucket', limit: 5, burst: 1 }],
    ['a limit of 0 with any cost', { limit: 0, cost: 7 }],
    ['a cost of 0', { cost: 0 }],
    ['a cost that a burst holds, above the limit', { algorithm: 'token-bucket', burst: 3, cost: 3 }],
    ['a cost with the limit of a function', { limit: () => 1, cost: 5 }],
    ['a cost of a function', { cost: () => 5 }],
    ['a name of 64 characters', { name: 'aZ0._-'.padEnd(64, 'x') }],
    ['the outcomes that are successes', { count: 'successes' }],
    ['the policy to allow', { onRedisError: 'allow' }],
    ['the policy to count locally', { onRedisError: 'local' }],
    ['the sliding window', { algorithm: 'sliding-window' }],
  ])('may have %s', (_what, rule) => {
    expect(resolve(rule)).toMatchObject(rule);
  });

  it.each([
    [
      'windowMs',
      { windowMs: MAX_DURATION_MS + 1 },
      'windowMs is 34560000001. Expected an integer from 1 to 34560000000 ms.',
    ],
    ['limit', { limit: MAX_HITS + 1 }, 'limit is 1000000001. Expected an integer from 0 to 1000000000.'],
    ['cost', { cost: -1 }, 'cost is -1. Expected an integer from 0 to 1000000000.'],
    [
      'burst',
      { algorithm: 'token-bucket', burst: MAX_HITS + 1 },
      'burst is 1000000001. Expected an integer from 1 to ',
    ],
    ['cost', { cost: 2 }, 'cost is 2. Expected an integer from 0 to 1, the most that the rule allows at once.'],
    ['burst', { burst: 3 }, 'burst is 3, but the algorithm is fixed-window. Only token-bucket has a burst.'],
    ['name', { name: 'x'.repeat(65) }, 'Expected 1 to 64 letters, digits, ".", "_" or "-".'],
    ['name', { name: '' }, 'name is "". Expected 1 to 64 letters'],
    ['name', { name: '?a' }, 'name is "?a".'],
    ['name', { name: 'a?' }, 'name is "a?".'],
    [
      'algorithm',
      { algorithm: '' },
      `algorithm is "". Expected one of 'fixed-window', 'sliding-window', 'sliding-log', 'token-bucket'.`,
    ],
    [
      'subject',
      { subject: 1 },
      'subject is 1. Expected a function from the ExecutionContext to the id that is counted.',
    ],
    ['skip', { skip: 1 }, 'skip is 1. Expected a function from the ExecutionContext to true or false.'],
    ['count', { count: '' }, `count is "". Expected one of 'all', 'failures', 'successes'.`],
    [
      'blockMs',
      { blockMs: MAX_DURATION_MS + 1 },
      'blockMs is 34560000001. Expected an integer from 0 to 34560000000 ms.',
    ],
    ['shadow', { shadow: 1 }, 'shadow is 1. Expected true or false.'],
    ['onRedisError', { onRedisError: '' }, `onRedisError is "". Expected one of 'allow', 'deny', 'local'.`],
    [
      ...['an option', { ttl: 1 }],
      'There is no option "ttl". Known: name, limit, windowMs, algorithm, burst, subject, cost, skip, count, blockMs, ' +
        'maxBlockMs, shadow, onRedisError.',
    ] as [string, object, string],
  ])('is refused with its %s: %j', (_option, rule, message) => {
    expect(() => resolve(rule)).toThrow(message);
  });

  it('is refused with the place of its declaration', () => {
    expect(() => resolve({ windowMs: 0 })).toThrow('RateLimitService: windowMs is 0.');
    expect(() => resolveRule({ ...good, windowMs: 0 }, new Checks('Cats'))).toThrow('Cats: windowMs is 0.');
  });
});

describe('the longest block', () => {
  it('is as long as the first one by default', () => {
    expect([resolve({}), resolve({ blockMs: 10 })].map(({ maxBlockMs }) => maxBlockMs)).toEqual([0, 10]);
  });

  it.each([10, 50, MAX_DURATION_MS])('may be %d', (maxBlockMs) => {
    expect(resolve({ blockMs: 10, maxBlockMs }).maxBlockMs).toBe(maxBlockMs);
  });

  it('may not be shorter than the first', () => {
    expect(() => resolve({ blockMs: 10, maxBlockMs: 9 })).toThrow(
      'maxBlockMs is 9. Expected an integer from 10 to 34560000000 ms.',
    );
  });

  it('needs a block', () => {
    expect(() => resolve({ maxBlockMs: 50 })).toThrow(
      'blockMs is 0, so maxBlockMs has no effect. Set blockMs to at least 1, or remove maxBlockMs.',
    );
  });
});
