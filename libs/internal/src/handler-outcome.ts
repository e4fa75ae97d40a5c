import { isIntegerOf } from './checks';
import { LuanestError } from './errors';
import { UNFINISHED } from './outcome-marker';

const MAX_DELAY_MS = 366 * 86_400_000;

/** A handler's outcome is invalid: another attempt would give the same one, so the work is dead-lettered at once. */
export class InvalidOutcomeError extends LuanestError {
  readonly code = 'INVALID_OUTCOME';
}

/** Options of `retryLater`. */
export interface RetryLaterOptions {
  /** Delay from now, ms; integer of at most 366 days. A negative delay, such as `dueAtMs - Date.now()` in the past, is 0. */
  readonly delayMs: number;
  /** True if this attempt counts towards `attempts`. Default true. Without it, a handler may retry without end. */
  readonly countsAsAttempt?: boolean;
}

const KNOWN = ['delayMs', 'countsAsAttempt'];

/**
 * Describes a value by its type or class. Logs and errors use it for values of the app, which may hold private data.
 *
 * @returns text such as `a number` or `an object of Order`
 */
export function classOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value !== 'object') return value === undefined ? 'undefined' : `a ${typeof value}`;
  try {
    return `an object of ${value.constructor.name}`;
  } catch {
    return 'an object';
  }
}

/** Checks the options. The values may come from a payload, and the error is logged: the error shows numbers only. */
function checkRetry(options: RetryLaterOptions): Required<RetryLaterOptions> {
  const invalid = (problem: string): InvalidOutcomeError => new InvalidOutcomeError(`retryLater(): ${problem}`);
  if (typeof options !== 'object' || options === null) {
    throw invalid(`the options are ${classOf(options)}. Expected { delayMs, countsAsAttempt? }.`);
  }
  const { delayMs, countsAsAttempt = true } = options;
  if (!isIntegerOf(delayMs, Number.MIN_SAFE_INTEGER, MAX_DELAY_MS)) {
    const seen = typeof delayMs === 'number' ? String(delayMs) : classOf(delayMs);
    throw invalid(`delayMs is ${seen}. Expected an integer of at most ${MAX_DELAY_MS}.`);
  }
  if (typeof countsAsAttempt !== 'boolean') {
    throw invalid(`countsAsAttempt is ${classOf(countsAsAttempt)}. Expected true or false.`);
  }
  if (Object.keys(options).some((name) => !KNOWN.includes(name))) {
    throw invalid(`there is an unknown option. Known: ${KNOWN.join(', ')}.`);
  }
  return { delayMs: Math.max(0, delayMs), countsAsAttempt };
}

/** Outcome of a handler: try the work again later. Made by `retryLater`. */
export class RetryLater {
  readonly kind = 'retry-later';
  readonly [UNFINISHED] = true;
  /** Delay from now, ms; 0 or more. */
  readonly delayMs: number;
  /** True if this attempt counts towards `attempts`. */
  readonly countsAsAttempt: boolean;

  /** @throws InvalidOutcomeError for invalid options */
  constructor(options: RetryLaterOptions) {
    ({ delayMs: this.delayMs, countsAsAttempt: this.countsAsAttempt } = checkRetry(options));
    Object.freeze(this);
  }
}

/** Outcome of a handler: do not try the work again, keep it as a dead letter. Made by `deadLetter`. */
export class DeadLetter {
  readonly kind = 'dead-letter';
  readonly [UNFINISHED] = true;

  /**
   * @param reason non-empty text
   * @throws InvalidOutcomeError for any other reason
   */
  constructor(readonly reason: string) {
    if (typeof reason !== 'string' || reason === '') {
      const seen = reason === '' ? 'empty' : classOf(reason);
      throw new InvalidOutcomeError(
        `deadLetter(): the reason is ${seen}. Expected non-empty text, which is kept with the dead letter.`,
      );
    }
    Object.freeze(this);
  }
}

/**
 * Makes an outcome of a handler that asks for another attempt. Return it or throw it.
 *
 * @param options `delayMs`, and `countsAsAttempt`
 * @throws InvalidOutcomeError for a delay that is not an integer, or over 366 days, and for unknown options
 */
export function retryLater(options: RetryLaterOptions): RetryLater {
  return new RetryLater(options);
}

/**
 * Makes an outcome of a handler that ends the attempts at once. Return it or throw it.
 *
 * @param reason non-empty text, kept with the dead letter
 * @throws InvalidOutcomeError for any other reason
 */
export function deadLetter(reason: string): DeadLetter {
  return new DeadLetter(reason);
}

/**
 * Finds the outcome that a handler returned or threw.
 *
 * @returns the value if it comes from `retryLater` or `deadLetter`; undefined for any other value. Never throws, also not
 *   for a proxy that throws
 */
export function unfinishedOutcome(value: unknown): RetryLater | DeadLetter | undefined {
  try {
    return value instanceof RetryLater || value instanceof DeadLetter ? value : undefined;
  } catch {
    return undefined;
  }
}
