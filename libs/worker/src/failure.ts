import { LuanestError, oneLine, unfinishedOutcome } from '../../internal/src';
import { delayAfter, type ResolvedBackoff } from './backoff';

const MAX_ERROR_CHARS = 1_000;
const ASKED = 'the handler asked for another attempt';
/** Logged instead of the reason that the handler passed to `deadLetter`, because that reason may contain private data. */
const GIVEN_UP = 'the handler gave up with deadLetter()';

/** Decision about a task or message after an attempt that did not succeed: a retry or a dead letter. */
export interface Failure {
  /**
   * `retry`: another attempt follows, with the next number. `postpone`: another attempt follows, with the same number, because this
   * attempt does not count. `dead-letter`: no attempt follows.
   */
  readonly verdict: 'retry' | 'postpone' | 'dead-letter';
  /** Pause before the next attempt, ms; 0 for a dead letter. */
  readonly delayMs: number;
  /** Reason why the attempt failed. Redis stores this text with the task or message. */
  readonly text: string;
  /** The error for events and logs; undefined if the handler used `retryLater` or `deadLetter`. */
  readonly error?: unknown;
  /** Text for the log if there is no `error`. */
  readonly note?: string;
}

interface FailedAttempt {
  readonly attempt: number;
  readonly attempts: number;
  readonly backoff: ResolvedBackoff;
}

/**
 * Decides if a task or message is retried or becomes a dead letter, after its handler timed out, threw, or used `retryLater` or
 * `deadLetter`. Never throws.
 *
 * @param value the error, the thrown value, or the result of `retryLater` or `deadLetter`
 * @param final error codes of luanest that a retry cannot fix; `INVALID_OUTCOME` is always one of them
 */
export function failureOf(value: unknown, work: FailedAttempt, final: readonly string[] = []): Failure {
  const isLast = work.attempt >= work.attempts;
  const outcome = unfinishedOutcome(value);
  if (outcome?.kind === 'retry-later') {
    const { delayMs, countsAsAttempt } = outcome;
    const asked = { text: ASKED, note: ASKED };
    if (!countsAsAttempt) return { verdict: 'postpone', delayMs, ...asked };
    return isLast ? { verdict: 'dead-letter', delayMs: 0, ...asked } : { verdict: 'retry', delayMs, ...asked };
  }
  if (outcome !== undefined)
    return { verdict: 'dead-letter', delayMs: 0, text: storable(outcome.reason), note: GIVEN_UP };
  const text = errorText(value);
  if (isLast || hasCode(value, ['INVALID_OUTCOME', ...final]))
    return { verdict: 'dead-letter', delayMs: 0, text, error: value };
  return { verdict: 'retry', delayMs: delayAfter(work.attempt, work.backoff), text, error: value };
}

/**
 * Returns the text that is stored for an error: its name and message, or `thrown: ...` for a value that is not an Error. The text is one
 * line of well-formed Unicode, with at most 1,000 characters. Never throws.
 */
export function errorText(error: unknown): string {
  let text: string;
  try {
    text = error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${String(error)}`;
  } catch {
    text = 'thrown: something that cannot be shown';
  }
  return storable(text);
}

/** Shortens a text for Redis: its first 1,000 characters, as one line of well-formed Unicode. */
export function storable(text: string): string {
  return oneLine(text.slice(0, MAX_ERROR_CHARS)).toWellFormed();
}

/** Returns true if a value is an error of luanest with one of the codes. Never throws, even if the value is a Proxy that throws. */
export function hasCode(value: unknown, codes: readonly string[]): boolean {
  try {
    return value instanceof LuanestError && codes.includes(value.code);
  } catch {
    return false;
  }
}

/** Returns the value that a handler threw. A thrown Proxy may throw again when it is read, so a new Error replaces such a Proxy. */
export function readable(thrown: unknown): unknown {
  try {
    void (thrown instanceof Error);
    return thrown;
  } catch {
    return new Error(
      'The handler threw a value that throws when it is read, such as a revoked Proxy. Throw an Error instead.',
    );
  }
}
