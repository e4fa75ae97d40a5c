import { isIntegerOf } from './checks';
import { InvalidInputError } from './errors';
import { UNFINISHED } from './outcome-marker';
import { classNameOf } from './printable';

const MAX_DELAY_MS = 366 * 86_400_000;

/** Options of `retryLater`. */
export interface RetryLaterOptions {
  /**
   * Delay from now, ms; safe integer, at most 366 days. A negative delay counts as 0, so `dueAtMs - Date.now()` works also after
   * `dueAtMs`.
   */
  readonly delayMs: number;
  /**
   * True: this attempt counts towards the option `attempts`. False: the attempt does not count, so the handler can ask for any number of
   * retries. Default true.
   */
  readonly countsAsAttempt?: boolean;
}

const KNOWN = ['delayMs', 'countsAsAttempt'];

/**
 * Describes a value by its type or class. For logs and errors, which must not show values of the app, because they may be private.
 *
 * @returns text such as `a number` or `an object of Order`
 */
export function classOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value !== 'object') return value === undefined ? 'undefined' : `a ${typeof value}`;
  try {
    return `an object of ${classNameOf(value)}`;
  } catch {
    return 'an object';
  }
}

/**
 * Checks the options. The error shows numbers, but no other values: the error is logged, and other values may come from a payload, which
 * may be private.
 */
function checkRetry(options: RetryLaterOptions): Required<RetryLaterOptions> {
  const invalid = (problem: string): InvalidInputError =>
    new InvalidInputError(`retryLater(): ${problem}`, { code: 'INVALID_OUTCOME' });
  if (typeof options !== 'object' || options === null) {
    throw invalid(`The options are ${classOf(options)}. Expected { delayMs, countsAsAttempt? }.`);
  }
  const { delayMs, countsAsAttempt = true } = options;
  if (!isIntegerOf(delayMs, Number.MIN_SAFE_INTEGER, MAX_DELAY_MS)) {
    const seen = typeof delayMs === 'number' ? String(delayMs) : classOf(delayMs);
    throw invalid(`delayMs is ${seen}. Expected an integer from ${Number.MIN_SAFE_INTEGER} to ${MAX_DELAY_MS}.`);
  }
  if (typeof countsAsAttempt !== 'boolean') {
    throw invalid(`countsAsAttempt is ${classOf(countsAsAttempt)}. Expected true or false.`);
  }
  if (Object.keys(options).some((name) => !KNOWN.includes(name))) {
    throw invalid(`There is an unknown option. Known: ${KNOWN.join(', ')}.`);
  }
  return { delayMs: Math.max(0, delayMs), countsAsAttempt };
}

/** Outcome of a handler that asks for another attempt later. `retryLater` creates it. */
export class RetryLater {
  readonly kind = 'retry-later';
  readonly [UNFINISHED] = true;
  /** Delay from now, ms; 0 or more. */
  readonly delayMs: number;
  /** True if this attempt counts towards `attempts`. */
  readonly countsAsAttempt: boolean;

  /** @throws InvalidInputError for invalid options */
  constructor(options: RetryLaterOptions) {
    ({ delayMs: this.delayMs, countsAsAttempt: this.countsAsAttempt } = checkRetry(options));
    Object.freeze(this);
  }
}

/** Outcome of a handler that wants no further attempt. The work becomes a dead letter. `deadLetter` creates this outcome. */
export class DeadLetter {
  readonly kind = 'dead-letter';
  readonly [UNFINISHED] = true;

  /**
   * @param reason non-empty text
   * @throws InvalidInputError for any other reason
   */
  constructor(readonly reason: string) {
    if (typeof reason !== 'string' || reason === '') {
      const seen = reason === '' ? 'empty' : classOf(reason);
      throw new InvalidInputError(
        `deadLetter(): The reason is ${seen}. Expected non-empty text, which is kept with the dead letter.`,
        { code: 'INVALID_OUTCOME' },
      );
    }
    Object.freeze(this);
  }
}

/**
 * Creates an outcome that asks for another attempt. Return it from the handler, or throw it there.
 *
 * @param options `delayMs`, and `countsAsAttempt`
 * @throws InvalidInputError for invalid or unknown options
 */
export function retryLater(options: RetryLaterOptions): RetryLater {
  return new RetryLater(options);
}

/**
 * Creates an outcome that ends the attempts at once, and makes the work a dead letter. Return it from the handler, or throw it there.
 *
 * @param reason non-empty text, which is stored with the dead letter
 * @throws InvalidInputError for any other reason
 */
export function deadLetter(reason: string): DeadLetter {
  return new DeadLetter(reason);
}

/**
 * Returns `value` if it is an outcome that a handler returned or threw.
 *
 * @returns `value` if `retryLater` or `deadLetter` created it; undefined for any other value. Never throws, not even for a Proxy that
 *   throws
 */
export function unfinishedOutcome(value: unknown): RetryLater | DeadLetter | undefined {
  try {
    return value instanceof RetryLater || value instanceof DeadLetter ? value : undefined;
  } catch {
    return undefined;
  }
}
