import type { KnownOptions } from '../../internal/src';

/** Fields that dead letters of tasks and of messages have in common. */
export interface DeadWork<Payload = unknown> {
  /** Id for `replay` and `drop`. */
  readonly id: string;
  readonly payload: Payload;
  /** Reason why the work became a dead letter, such as the text of the last error or the reason of `deadLetter`; at most 1,000 characters. */
  readonly error: string;
  /** Number of attempts since the work was added or last replayed. Attempts that were handed back, and those with `countsAsAttempt: false`, do not count. */
  readonly attemptsMade: number;
  /** Time at which the work became a dead letter, ms since 1970 by Redis' clock. */
  readonly deadAtMs: number;
}

/** Filter of dead letters by the time at which they were dead-lettered. */
export interface DeadRange {
  /** Selects those that were dead-lettered at this instant or later, ms since 1970 by Redis' clock; integer >= 0. Default: any time. */
  readonly diedFromAtMs?: number;
  /** Selects those that were dead-lettered before this instant, ms since 1970 by Redis' clock; integer >= 0. Default: any time. */
  readonly diedBeforeAtMs?: number;
}

export const KNOWN_DEAD_RANGE: KnownOptions<DeadRange> = { diedFromAtMs: true, diedBeforeAtMs: true };

/** A page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** `cursor` of the next page; undefined after the last page. */
  readonly nextCursor?: string;
}
