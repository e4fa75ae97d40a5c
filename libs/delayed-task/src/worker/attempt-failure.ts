import { InvalidOutcomeError, unfinishedOutcome } from '../../../internal/src';

const MAX_ERROR_CHARS = 1_000;
/** Text for an attempt whose handler used `retryLater`. */
const ASKED = 'the handler asked for another attempt';
/** Logged for a task whose handler used `deadLetter`. The reason itself is not logged, because it may hold private data. */
const GIVEN_UP = 'the handler gave up the task';

/** How an attempt that did not succeed is settled. */
export interface Failure {
  /**
   * `retry`: the attempt counts, and the task is dead-lettered after its last one. `postpone`: the attempt does not count.
   * `dead-letter`: the task is dead-lettered at once.
   */
  readonly verdict: 'retry' | 'postpone' | 'dead-letter';
  /** Pause before the next attempt, ms; undefined: the pause of the task's backoff. */
  readonly delayMs?: number;
  /** Text that is stored with the task, unless the attempt does not count. */
  readonly text: string;
  /** The error for events and logs; undefined if the handler asked for this outcome. */
  readonly error?: unknown;
  /** Text for the log if there is no error. */
  readonly note?: string;
}

/** Returns how an attempt is settled that timed out, or whose handler threw a value or returned an outcome. Never throws. */
export function failureOf(value: unknown): Failure {
  const outcome = unfinishedOutcome(value);
  if (outcome?.kind === 'retry-later') {
    const { delayMs, countsAsAttempt } = outcome;
    return { verdict: countsAsAttempt ? 'retry' : 'postpone', delayMs, text: ASKED, note: ASKED };
  }
  if (outcome !== undefined) return { verdict: 'dead-letter', text: storable(outcome.reason), note: GIVEN_UP };
  // Another attempt is expected to make the same mistake.
  const verdict = isInvalidOutcome(value) ? 'dead-letter' : 'retry';
  return { verdict, text: messageOf(value), error: value };
}

/**
 * Returns the text that is stored for an error: name and message, or `thrown: ...` for a value that is not an Error; at most
 * 1,000 characters. Never throws.
 */
export function messageOf(error: unknown): string {
  let text: string;
  try {
    text = error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${String(error)}`;
  } catch {
    text = 'thrown: something that cannot be shown';
  }
  return storable(text);
}

function storable(text: string): string {
  return text.slice(0, MAX_ERROR_CHARS).toWellFormed();
}

function isInvalidOutcome(value: unknown): boolean {
  try {
    return value instanceof InvalidOutcomeError;
  } catch {
    return false;
  }
}
