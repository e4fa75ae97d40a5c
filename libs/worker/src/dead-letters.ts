import type { KnownOptions } from '../../internal/src';

/** Fields of a dead letter: a task or a message that is not retried any more. */
export interface DeadWork<Payload = unknown> {
  /** Id for `replay` and `drop`. */
  readonly id: string;
  readonly payload: Payload;
  /**
   * Reason why the task or message became a dead letter, such as the text of the last error, or the reason that the handler passed to
   * `deadLetter`; at most 1,000 characters.
   */
  readonly error: string;
  /**
   * Number of attempts since the task or message was added or last replayed. Attempts that a worker handed back, and attempts that ended
   * with `retryLater({ countsAsAttempt: false })`, do not count.
   */
  readonly attemptsMade: number;
  /** When the task or message became a dead letter, ms since 1970 by Redis' clock. */
  readonly deadAtMs: number;
}

/** Filter of dead letters by the time at which they were dead-lettered. */
export interface DeadRange {
  /**
   * Earliest time: selects dead letters that were dead-lettered at this time or later. ms since 1970 by Redis' clock; integer >= 0.
   * Default: no limit.
   */
  readonly diedFromAtMs?: number;
  /**
   * End of the time range: selects dead letters that were dead-lettered before this time. ms since 1970 by Redis' clock; integer >= 0.
   * Default: no limit.
   */
  readonly diedBeforeAtMs?: number;
}

export const KNOWN_DEAD_RANGE: KnownOptions<DeadRange> = { diedFromAtMs: true, diedBeforeAtMs: true };
