import { Checks } from '../../internal/src';
import { delayAfter, resolveBackoff } from '../src';

describe('the pause after a failed attempt', () => {
  const backoff = { delayMs: 100, factor: 2, maxDelayMs: 1_000 };

  it.each([
    [1, 0, 100],
    [1, 0.999_999, 50],
    [2, 0, 200],
    [3, 0.5, 300],
    [5, 0, 1_000],
    [1_000, 0, 1_000],
  ])('after attempt %d, at random number %d, is %d ms', (failures, random, expected) => {
    expect(delayAfter(failures, backoff, random)).toBe(expected);
  });

  it('stays 0 at any attempt, also where the factor grows to Infinity', () => {
    expect(delayAfter(1_000, { delayMs: 0, factor: 1_000, maxDelayMs: 60_000 }, 0)).toBe(0);
  });
});

describe('the option backoff', () => {
  const where = new Checks('TestModule');

  it.each([
    [{}, [1_000, 2, 3_600_000]],
    [5, [5, 2, 3_600_000]],
    [{ delayMs: 7_200_000 }, [7_200_000, 2, 7_200_000]],
    [{ factor: 1, maxDelayMs: 60_000 }, [1_000, 1, 60_000]],
  ])('%j has defaults for what is left out', (given, [delayMs, factor, maxDelayMs]) => {
    expect(resolveBackoff(given, where)).toEqual({ delayMs, factor, maxDelayMs });
  });

  it.each([[null], ['1s'], [-1], [{ delayMs: 10, maxDelayMs: 9 }], [{ factor: 0.5 }], [{ delay: 5 }]])(
    '%j is refused',
    (given) => {
      expect(() => resolveBackoff(given, where)).toThrow(/^TestModule: /);
    },
  );
});
