import { deadLetter, isUnfinished, InvalidInputError, retryLater, unfinishedOutcome } from '../src';

const MAX_DELAY_MS = 366 * 86_400_000;
const EXPECTED_DELAY = `Expected an integer from ${Number.MIN_SAFE_INTEGER} to ${MAX_DELAY_MS} ms.`;

describe('outcomes of handlers', () => {
  it('counts a retry as an attempt by default, and takes a negative delay as 0', () => {
    expect(retryLater({ delayMs: -5 })).toMatchObject({ kind: 'retry-later', delayMs: 0, countsAsAttempt: true });
    expect(retryLater({ delayMs: MAX_DELAY_MS, countsAsAttempt: false })).toMatchObject({
      delayMs: MAX_DELAY_MS,
      countsAsAttempt: false,
    });
  });

  it('recognizes its outcomes, and no look-alike', () => {
    const hostile = new Proxy(
      {},
      {
        getPrototypeOf: () => {
          throw new Error('from a proxy');
        },
      },
    );
    for (const outcome of [retryLater({ delayMs: 1 }), deadLetter('no account')]) {
      expect(unfinishedOutcome(outcome)).toBe(outcome);
      expect(isUnfinished(outcome)).toBe(true);
      expect(Object.isFrozen(outcome)).toBe(true);
    }
    for (const value of [undefined, null, 'retry-later', { ...retryLater({ delayMs: 1 }) }, hostile]) {
      expect(unfinishedOutcome(value)).toBeUndefined();
    }
  });

  it.each([
    [undefined, 'retryLater(): The options are undefined. Expected { delayMs, countsAsAttempt? }.'],
    [{}, `retryLater(): delayMs is undefined. ${EXPECTED_DELAY}`],
    [{ delayMs: 0.5 }, `retryLater(): delayMs is 0.5. ${EXPECTED_DELAY}`],
    [{ delayMs: 'secret' }, `retryLater(): delayMs is a string. ${EXPECTED_DELAY}`],
    [{ delayMs: 1, countsAsAttempt: 1 }, 'retryLater(): countsAsAttempt is a number. Expected true or false.'],
    [{ delayMs: 1, secret: 1 }, 'retryLater(): There is an unknown option. Known: delayMs, countsAsAttempt.'],
  ])('refuses the retry %j without quoting text', (options, message) => {
    expect(() => retryLater(options as never)).toThrow(new InvalidInputError(message, { code: 'INVALID_OUTCOME' }));
  });

  it.each([
    ['', 'empty'],
    [undefined, 'undefined'],
    [new Error('secret'), 'an object of Error'],
  ])('refuses the reason %p', (reason, seen) => {
    expect(() => deadLetter(reason as never)).toThrow(
      new InvalidInputError(
        `deadLetter(): The reason is ${seen}. Expected non-empty text, which is kept with the dead letter.`,
        { code: 'INVALID_OUTCOME' },
      ),
    );
  });
});
