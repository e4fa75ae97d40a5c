import { deadLetter, InvalidInputError, retryLater } from '../../internal/src';
import { errorText, failureOf } from '../src';

const backoff = { delayMs: 100, factor: 2, maxDelayMs: 1_000 };
const work = { attempt: 2, attempts: 5, backoff };
const last = { ...work, attempt: 5 };
const hostile = new Proxy(new Error('x'), {
  getPrototypeOf: () => {
    throw new Error('hostile');
  },
});

beforeEach(() => {
  jest.spyOn(Math, 'random').mockReturnValue(0.5);
});
afterEach(() => {
  jest.restoreAllMocks();
});

describe('how an attempt that did not succeed is settled', () => {
  it('is a retry after the pause of the backoff if the handler failed', () => {
    const error = new TypeError('broken');
    const expected = { verdict: 'retry', delayMs: 150, text: 'TypeError: broken', error };
    expect(failureOf(error, work)).toEqual(expected);
    expect(failureOf('text', work)).toMatchObject({ verdict: 'retry', text: 'thrown: text', error: 'text' });
    expect(failureOf(error, last)).toEqual({ ...expected, verdict: 'dead-letter', delayMs: 0 });
  });

  it('is what the handler asked for', () => {
    const asked = 'the handler asked for another attempt';
    const text = { text: asked, note: asked };
    expect(failureOf(retryLater({ delayMs: 70 }), work)).toEqual({ verdict: 'retry', delayMs: 70, ...text });
    expect(failureOf(retryLater({ delayMs: 70 }), last)).toEqual({ verdict: 'dead-letter', delayMs: 0, ...text });
    const uncounted = retryLater({ delayMs: 0, countsAsAttempt: false });
    for (const one of [work, last]) {
      expect(failureOf(uncounted, one)).toEqual({ verdict: 'postpone', delayMs: 0, ...text });
    }
    expect(failureOf(deadLetter('no such\nuser'), work)).toEqual({
      ...{ verdict: 'dead-letter', delayMs: 0, text: 'no such user', note: 'the handler gave up with deadLetter()' },
    });
  });

  it('is a dead letter at once if another attempt would fail in the same way', () => {
    const invalid = new InvalidInputError('wrong', { code: 'INVALID_OUTCOME' });
    expect(failureOf(invalid, work)).toEqual({
      ...{ verdict: 'dead-letter', delayMs: 0, text: 'InvalidInputError: wrong', error: invalid },
    });
    const malformed = new InvalidInputError('x', { code: 'MALFORMED_PAYLOAD' });
    expect(failureOf(malformed, work, ['MALFORMED_PAYLOAD']).verdict).toBe('dead-letter');
    expect(failureOf(malformed, work).verdict).toBe('retry');
    expect(failureOf(new InvalidInputError('x'), work, ['MALFORMED_PAYLOAD']).verdict).toBe('retry');
    expect(failureOf(Object.assign(new Error('x'), { code: 'INVALID_OUTCOME' }), work).verdict).toBe('retry');
  });

  it('is found without an error for any value', () => {
    const { verdict, text } = failureOf(hostile, work);
    expect([verdict, text]).toEqual(['retry', 'thrown: something that cannot be shown']);
  });
});

describe('the text that is kept for an error', () => {
  it('is one line', () => {
    expect(errorText(new TypeError('a\nb'))).toBe('TypeError: a b');
    expect([errorText('text'), errorText(5)]).toEqual(['thrown: text', 'thrown: 5']);
    expect(errorText(Object.create(null))).toBe('thrown: something that cannot be shown');
  });

  it('has at most 1,000 characters, and is well-formed', () => {
    expect(errorText('x'.repeat(2_000))).toBe(`thrown: ${'x'.repeat(992)}`);
    expect(errorText(`${'x'.repeat(991)}😀`)).toBe(`thrown: ${'x'.repeat(991)}\ufffd`);
  });
});
