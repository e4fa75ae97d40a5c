import { delayAfter } from '../src/worker/backoff';

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
