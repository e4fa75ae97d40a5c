import { isIntegerOf } from './checks';
import { InvalidInputError } from './errors';
import { UNFINISHED } from './outcome-marker';
import { classNameOf } from './printable';

const MAX_DELAY_MS = 366 * 86_400_000;

/** Options of `retryLater`. */
export interface RetryLaterOptions {
  /**
   * Delay from now, ms; safe integer, at most 366 days. A negative delay counts as 0, so you can pass `dueAtMs - Date.now()` even if that
   * time has passed.
   */
  readonly delayMs: number;
  /**
   * True: this attempt counts towards the option `attempts`. False: it does not count, so the handler may ask for retries without a limit.
   * Default true.
   */
  readonly countsAsAttempt?: boolean;
}

const KNOWN = ['delayMs', 'countsAsAttempt'];

/**
 * Describes a value by its type or class only, because the value itself may be private and the text goes into logs and errors.
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
 * Checks the options of `retryLater`. The error quotes numbers only: it is logged, and other values may contain private data of a payload.
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
    throw invalid(`delayMs is ${seen}. Expected an integer from ${Number.MIN_SAFE_INTEGER} to ${MAX_DELAY_MS} ms.`);
  }
  if (typeof countsAsAttempt !== 'boolean') {
    throw invalid(`countsAsAttempt is ${classOf(countsAsAttempt)}. Expected true or false.`);
  }
  if (Object.keys(options).some((name) => !KNOWN.includes(name))) {
    throw invalid(`There is an unknown option. Known: ${KNOWN.join(', ')}.`);
  }
  return { delayMs: Math.max(0, delayMs), countsAsAttempt };
}

/** Result of a handler that asks for another attempt later. Create it with `retryLater`. */
export class RetryLater {
  readonly kind = 'retry-later';
  readonly [UNFINISHED] = true;
  /** Time until the next attempt, ms; 0 or more. */
  readonly delayMs: number;
  /** True if this attempt counts towards `attempts`. */
  readonly countsAsAttempt: boolean;

  /** @throws InvalidInputError for invalid options */
  constructor(options: RetryLaterOptions) {
    ({ delayMs: this.delayMs, countsAsAttempt: this.countsAsAttempt } = checkRetry(options));
    Object.freeze(this);
  }
}

/** Result of a handler that ends all attempts, so that the task or message becomes a dead letter. Create it with `deadLetter`. */
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
 * Asks for another attempt later. Return or throw the result of this function in a handler.
 *
 * @param options `delayMs`, and `countsAsAttempt`
 * @throws InvalidInputError for invalid or unknown options
 */
export function retryLater(options: RetryLaterOptions): RetryLater {
  return new RetryLater(options);
}

/**
 * Ends the attempts at once, and makes the task or message a dead letter. Return or throw the result of this function in a handler.
 *
 * @param reason non-empty text, which is stored with the dead letter
 * @throws InvalidInputError for any other reason
 */
export function deadLetter(reason: string): DeadLetter {
  return new DeadLetter(reason);
}

/**
 * Recognises the results of `retryLater` and `deadLetter` among the values that a handler returned or threw.
 *
 * @returns `value` if it is such a result; undefined for any other value. Never throws, not even for a Proxy that throws
 */
export function unfinishedOutcome(value: unknown): RetryLater | DeadLetter | undefined {
  try {
    return value instanceof RetryLater || value instanceof DeadLetter ? value : undefined;
  } catch {
    return undefined;
  }
}
